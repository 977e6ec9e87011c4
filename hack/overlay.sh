#!/bin/bash
# overlay.sh IMAGE DIRECTORY [BASE]: writes a kustomization there that is BASE (config/default) with IMAGE in place of "h2surge" and of
# "localhost/h2surge", which is the default in config/target. No tracked file is edited.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 2 ] || [ $# = 3 ] || { echo "usage: hack/overlay.sh IMAGE DIRECTORY [BASE]" >&2; exit 1; }
image=$1 dir=$2 base=${3:-config/default}

# the tag is what follows a colon in the last part of the path: an earlier colon is a port's
case ${image##*/} in
  *@*) name=${image%@*} version="digest: ${image#*@}" ;;
  *:*) name=${image%:*} version="newTag: \"${image##*:}\"" ;;
  *) name=$image version='newTag: latest' ;;
esac

mkdir -p "$dir"
base=$(realpath --relative-to="$dir" "$base")
cat >"$dir/kustomization.yaml" <<EOF
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [$base]
images:
- name: h2surge
  newName: $name
  $version
- name: localhost/h2surge
  newName: $name
  $version
EOF
