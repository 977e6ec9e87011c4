#!/bin/bash
# build.sh OUTPUT: builds the Prometheus that go.mod pins with the discovery of Kubernetes alone, for "make e2e". Debian's package has
# all but that one; with all of them it is a thousand packages more, the clouds' clients. Upstream's own way is to edit plugins.yml.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go mod download github.com/prometheus/prometheus # "go list" names no directory of a module that is not in the cache
upstream=$(go list -mod=readonly -m -f '{{.Dir}}' github.com/prometheus/prometheus)
sed 's|"github.com/prometheus/prometheus/plugins"|"github.com/prometheus/prometheus/discovery/kubernetes"|' \
  "$upstream/cmd/prometheus/main.go" >"$work/main.go"
grep -q '"github.com/prometheus/prometheus/discovery/kubernetes"' "$work/main.go"
# a package of this module that is on no disk but there
printf '{"Replace": {"%s/main.go": "%s/main.go"}}\n' "$PWD" "$work" >"$work/overlay.json"
CGO_ENABLED=0 go build -mod=readonly -overlay "$work/overlay.json" -ldflags '-s -w' -o "$out" .
