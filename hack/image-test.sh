#!/bin/bash
# image-test.sh IMAGE VERSION: builds the Dockerfile with buildah, in storage of its own, from files that "make rootfs" builds again with a narrow
# umask, and compares what a container sees of that image and of dist/h2surge.tar. Times, layers and history, in which builders differ, do not count.
set -euo pipefail
cd "$(dirname "$0")/.."
platform=linux/$(go env GOARCH)

work=$(mktemp -d)
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
b=(buildah --root "$work/root" --runroot "$work/run")
trap '"${b[@]}" umount -a >/dev/null; rm -rf "$work"' EXIT

# contents IMAGE: a line for each file, and the configuration. Builders add labels of their own.
contents() {
  local container root
  container=$("${b[@]}" from --pull-never "$1")
  root=$("${b[@]}" mount "$container")
  (cd "$root" && find . -mindepth 1 -printf '%y %m %U:%G %p\n' && find . -type f -exec sha256sum {} +) | LC_ALL=C sort
  "${b[@]}" inspect --type image --format '{{with .OCIv1}}{{.OS}}/{{.Architecture}} user {{.Config.User}} directory {{.Config.WorkingDir}} entrypoint {{.Config.Entrypoint}} command {{.Config.Cmd}} environment {{.Config.Env}}{{range $k, $v := .Config.Labels}}
{{$k}}={{$v}}{{end}}{{end}}' "$1" | grep -v '^io.buildah'
}

(umask 077 && make -s rootfs VERSION="$2")
"${b[@]}" build -q --platform "$platform" --build-arg VERSION="$2" -t built . >/dev/null
"${b[@]}" tag "$("${b[@]}" pull -q "docker-archive:dist/h2surge.tar")" packed
contents packed >"$work/packed"
contents built >"$work/built"
diff "$work/packed" "$work/built" || { echo "image-test.sh: the images differ (<: make image, >: Dockerfile)" >&2; exit 1; }
cat "$work/built"
echo "the Dockerfile's image and that of make image are the same"
