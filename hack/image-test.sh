#!/bin/bash
# image-test.sh IMAGE VERSION: builds the Dockerfile with buildah, in storage of its own, and compares the image with dist/h2surge.tar.
set -euo pipefail
cd "$(dirname "$0")/.."
platform=linux/$(go env GOARCH)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
b=(buildah --root "$work/root" --runroot "$work/run")
"${b[@]}" build -q --platform "$platform" --build-arg VERSION="$2" -t "$1" . >/dev/null
"${b[@]}" push -q "$1" "docker-archive:$work/image.tar:$1"
bin/tools/image -list dist/h2surge.tar >"$work/packed"
bin/tools/image -list "$work/image.tar" >"$work/built"
diff "$work/packed" "$work/built" || { echo "image-test.sh: the images differ (<: make image, >: Dockerfile)" >&2; exit 1; }
cat "$work/built"
echo "the Dockerfile's image and that of make image are the same"
