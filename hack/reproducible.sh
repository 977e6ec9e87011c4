#!/bin/bash
# reproducible.sh builds the image twice, in clones of the last commit at different paths, with separate empty caches, other time
# zones and umasks, one after the other, and fails if the images differ. It needs about six minutes of CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
modules=$(go env GOMODCACHE)/cache/download

# build PATH ZONE UMASK: builds the image in a clone. The files of the clone have the time of now.
build() {
  git clone -q . "$work/$1"
  (
    umask "$3"
    cd "$work/$1"
    export TZ=$2 GOCACHE=$work/cache-$3 GOMODCACHE=$work/modules-$3 GOPROXY=file://$modules GONOSUMDB='*' GONOSUMCHECK=1 GOFLAGS=
    make image IMG=localhost/h2surge:reproducible >/dev/null
    sha256sum <dist/h2surge.tar
  )
}
first=$(build one UTC 022)
second=$(build some/where/else/two Asia/Tokyo 027)
echo "$first"
echo "$second"
[ "$first" = "$second" ] || { echo "reproducible.sh: the images differ" >&2; exit 1; }
