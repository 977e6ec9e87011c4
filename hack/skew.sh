#!/bin/bash
# skew.sh [COMMIT]: runs the operator of this commit with runners of COMMIT, and the reverse. If COMMIT is not given, it is the last tag
# before this commit or, without tags, the commit that test/skew/previous names. A shallow clone does not have it, and is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS='-trimpath -buildvcs=false' CGO_ENABLED=0
old=${1:-$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || cat test/skew/previous)}
if ! git cat-file -e "$old^{commit}" 2>/dev/null; then
  echo "skew.sh: skipped: commit $old is not in the git history of this clone" >&2
  exit 0
fi
echo "skew.sh: the other build is $old"
dir=$PWD/dist/skew
rm -rf "$dir"
mkdir -p "$dir/tree"
git archive "$old" | tar -x -C "$dir/tree"
build() { # TREE NAME
  mkdir -p "$dir/$2"
  (cd "$1" && go build -o "$dir/$2/" ./cmd/manager ./cmd/runner)
  cp -r "$1/config/crd/bases" "$dir/$2/crd"
}
build "$dir/tree" old
build . new
rm -rf "$dir/tree" # its packages must not be found by ./...
KUBEBUILDER_ASSETS=$(hack/envtest-assets.sh) SKEW_DIR=$dir go test -tags skew -count=1 -timeout 15m -v ./test/skew
