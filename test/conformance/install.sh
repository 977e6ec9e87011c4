#!/bin/bash
# install.sh: installs the servers of "make conformance" from the distribution's packages (Debian or Ubuntu, root). What the
# distribution does not have is left out, with a line that says so; its tests are skipped then.
set -euo pipefail

declare -A package=(
  [nginx]=nginx [nghttpd]=nghttp2-server [h2o]=h2o [haproxy]=haproxy [apache2]=apache2 [caddy]=caddy [node]=nodejs [openssl]=openssl
)

has() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }

wanted=()
for program in "${!package[@]}"; do
  has "$program" || wanted+=("$program")
done
if [ ${#wanted[@]} = 0 ]; then
  echo "install.sh: all servers are there"
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "install.sh: not root on a system with apt-get; missing: ${wanted[*]}" >&2
  exit 0
fi

# The tests start the servers themselves: their services stay off. A machine that has a policy of its own keeps it.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
fi

export DEBIAN_FRONTEND=noninteractive
get() { apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "$@" >/dev/null; }
packages=()
for program in "${wanted[@]}"; do packages+=("${package[$program]}"); done
get "${packages[@]}" 2>/dev/null && exit 0
apt-get -o DPkg::Lock::Timeout=600 update -qq || echo "install.sh: apt-get update failed" >&2
for p in "${packages[@]}"; do
  get "$p" || echo "install.sh: $p cannot be installed" >&2
done
