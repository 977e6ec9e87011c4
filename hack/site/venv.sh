#!/bin/bash
# venv.sh DIRECTORY [REQUIREMENTS]: makes a Python environment there with the packages of a file (requirements.txt), if it does not have them already.
set -euo pipefail
cd "$(dirname "$0")/../.."
wanted=${2:-hack/site/requirements.txt}
cmp -s "$wanted" "$1/requirements.txt" && exit 0
hack/install.sh python3=python3
rm -rf "$1"
# Debian has the module that installs pip in a package without a program, so virtualenv takes its place.
if python3 -c 'import ensurepip, venv' 2>/dev/null; then
  python3 -m venv "$1"
else
  hack/install.sh virtualenv=virtualenv
  virtualenv -q "$1"
fi
"$1/bin/pip" install -q --disable-pip-version-check --no-deps -r "$wanted"
cp "$wanted" "$1/requirements.txt"
