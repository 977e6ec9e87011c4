#!/bin/bash
# kernel.sh DIRECTORY: gets the Linux kernel of Debian's package linux-image-cloud-amd64 as DIRECTORY/vmlinuz; the package is unpacked,
# not installed. Exits with 1, and one line that says what to do, when it cannot.
set -euo pipefail
meta=linux-image-cloud-amd64 kernel=$1/vmlinuz

if [ -s "$kernel" ]; then exit 0; fi
fail() { echo "kernel.sh: $*, or put a Linux kernel for x86-64 with cgroup v2 and a serial console at $kernel" >&2 && exit 1; }
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then fail "run this on Debian"; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# newest: the package that the meta package depends on; empty without package lists
newest() { apt-cache depends $meta 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^linux-image-/ {print $2; exit}'; }
download() { (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$(newest)") >"$work/log" 2>&1; }
# The package lists may be missing, or name a version that has gone from the mirror.
if [ -z "$(newest)" ] || ! download; then
  [ "$(id -u)" = 0 ] || fail "run apt-get update as root and try again"
  apt-get -qq -o DPkg::Lock::Timeout=600 update >"$work/log" 2>&1 || true
  if [ -z "$(newest)" ] || ! download; then
    tail -n 3 "$work/log" >&2
    fail "$meta cannot be downloaded: make apt-get download $meta work"
  fi
fi
mkdir -p "$1"
dpkg-deb --fsys-tarfile "$work"/*.deb | tar -x -C "$work" --wildcards './boot/vmlinuz-*'
cp "$work"/boot/vmlinuz-* "$kernel.new"
mv "$kernel.new" "$kernel"
