#!/bin/bash
# install.sh PROGRAM=PACKAGE[,PACKAGE]...: installs the Debian or Ubuntu packages of the programs that are missing, as root. Exits with 1, and one
# line for each program that is still missing, when it cannot.
set -euo pipefail

has() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }

missing() { # PROGRAM=PACKAGE...: those whose program is missing
  local p
  for p; do has "${p%%=*}" || echo "$p"; done
}

mapfile -t wanted < <(missing "$@")
[ ${#wanted[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ] || ! has apt-get; then
  for p in "${wanted[@]}"; do echo "install.sh: ${p%%=*} is missing: install it (Debian's package is ${p##*=}), or run this as root on Debian or Ubuntu" >&2; done
  exit 1
fi

# One at a time: the file below belongs to the one that made it.
exec 9<"$0"
flock 9

# Tests start servers themselves, so the packages' services stay off. A machine that has a policy of its own keeps it.
policy=/usr/sbin/policy-rc.d
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -e $policy ]; then
  trap 'rm -f "$log" $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
fi

export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -o DPkg::Lock::Timeout=600 "$@" >>"$log" 2>&1; }
get() { # PROGRAM=PACKAGE[,PACKAGE]...
  local names
  IFS=, read -ra names <<<"$(IFS=,; echo "${*##*=}")"
  apt install -y --no-install-recommends "${names[@]}"
}
if ! get "${wanted[@]}"; then
  apt update || echo "install.sh: apt-get update failed" >&2
  # One at a time where all together fail: one unknown package must not keep the others out.
  get "${wanted[@]}" || for p in "${wanted[@]}"; do get "$p" || true; done
fi

mapfile -t wanted < <(missing "$@")
[ ${#wanted[@]} -gt 0 ] || exit 0
tail -n 5 "$log" >&2
for p in "${wanted[@]}"; do echo "install.sh: ${p%%=*} is missing: Debian's package ${p##*=} could not be installed" >&2; done
exit 1
