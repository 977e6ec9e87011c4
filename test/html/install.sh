#!/bin/bash
# install.sh: installs the browser of "make html" from the distribution's packages (Debian, root). Where that is not possible it
# says so; the tests are skipped then.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then
    echo "install.sh: $name is there"
    exit 0
  fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "install.sh: not root on a system with apt-get, and there is no chromium" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
get() { apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; }
get || { apt-get -o DPkg::Lock::Timeout=600 update -qq && get; } || echo "install.sh: chromium cannot be installed" >&2
