#!/bin/bash
# install.sh installs h2surge and kubectl-h2surge of the release VERSION (v0.1.0, or latest) into RUNNER_TEMP and adds them to PATH.
set -euo pipefail
releases=${H2SURGE_RELEASES:-https://github.com/h2surge/h2surge/releases}
if [ "${VERSION:=latest}" = latest ]; then # the address redirects to the last release
  VERSION=$(curl -fsSLI -o /dev/null -w '%{url_effective}' --retry 3 "$releases/latest")
  VERSION=${VERSION##*/}
fi
case $(uname -m) in x86_64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) echo "::error::h2surge has no program for $(uname -m)" && exit 1 ;; esac
os=$(uname -s | tr '[:upper:]' '[:lower:]')
dir=$RUNNER_TEMP/h2surge-$VERSION
mkdir -p "$dir"
cd "$dir"
get() { curl -fsSL --retry 3 -o "$1" "$releases/download/$VERSION/$1"; }
get checksums.txt
for program in h2surge kubectl-h2surge; do
  archive=${program}_${VERSION#v}_${os}_$arch.tar.gz
  get "$archive"
  grep "  $archive\$" checksums.txt >"$program.sum" || { echo "::error::checksums.txt of $VERSION does not have $archive" && exit 1; }
  if command -v sha256sum >/dev/null; then sha256sum -c --quiet "$program.sum"; else shasum -a 256 -c "$program.sum" >/dev/null; fi
  tar -xzf "$archive" "$program"
done
echo "$dir" >>"$GITHUB_PATH"
echo "version=$VERSION" >>"$GITHUB_OUTPUT"
