#!/bin/bash
# image.sh NAME IMAGE VERSION ENTRYPOINT OS/ARCH=FOLDER...: packs folders into the container image IMAGE with crane, without a container
# engine, and writes it to the folder NAME.oci, an OCI layout, and to NAME.tar: for one platform an archive for "docker load" and
# "ctr images import", for several the OCI layout. The same files give the same bytes. Needs GNU tar.
#
#   IMAGE_USER=UID:GID   the user of the image, if it is not 65532:65532
#   CRANE=PROGRAM        crane, if it is not bin/tools/crane
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 image=$2 version=$3 entrypoint=$4
shift 4

# crane changes images in registries only, so one runs on loopback meanwhile.
. hack/registry.sh
registry_up
pack() { # ARCHIVE FOLDER
  find "$2" ! -perm -1000 -exec chmod u=rwX,go=rX {} + # the umask does not count; a folder such as tmp stays sticky
  (cd "$2" && tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c -- *) >"$1"
}

images=()
for p; do
  pack "$registry_work/layer.tar" "${p#*=}"
  crane append --oci-empty-base -f "$registry_work/layer.tar" -t "$registry/layer" >/dev/null
  images+=(-m "$(crane mutate "$registry/layer" --set-platform "${p%%=*}" -u "${IMAGE_USER:-65532:65532}" -w / -e PATH=/ --entrypoint "$entrypoint" \
    -l org.opencontainers.image.title=h2surge -l org.opencontainers.image.licenses=Apache-2.0 \
    -l org.opencontainers.image.source=https://github.com/h2surge/h2surge -l "org.opencontainers.image.version=$version")")
done
crane index append "${images[@]}" -t "$registry/index" >/dev/null
rm -rf "$name.oci"
crane pull --format oci --annotate-ref "$registry/index" "$name.oci"
# containerd takes the image's name from this annotation.
sed -i 's|"org.opencontainers.image.ref.name": "[^"]*"|"io.containerd.image.name": "'"$image"'", "org.opencontainers.image.ref.name": "'"${image##*:}"'"|' "$name.oci/index.json"
if [ $# = 1 ]; then crane mutate "${images[1]}" -t "$image" -o "$name.tar"; else pack "$name.tar" "$name.oci"; fi
echo "$name.tar: $image for ${*%%=*}"
