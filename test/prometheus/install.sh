#!/bin/bash
# install.sh: installs prometheus and promtool for "make prometheus-test" from the distribution's package (Debian or Ubuntu, root).
# Without them the tests are skipped, with a line that says so.
set -euo pipefail

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "install.sh: prometheus is not there, and this is not root on a system with apt-get" >&2
  exit 0
fi

# The tests start Prometheus themselves: its service stays off. A machine that has a policy of its own keeps it.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
fi

export DEBIAN_FRONTEND=noninteractive
get() { apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends prometheus >/dev/null; }
get 2>/dev/null || { apt-get -o DPkg::Lock::Timeout=600 update -qq && get; } || echo "install.sh: prometheus cannot be installed" >&2
