#!/bin/bash
# test.sh: everything that needs no cluster. Says what it does and how long it took.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS='-trimpath -buildvcs=false'

step() { printf '\n==> %s (%d s so far)\n' "$1" "$SECONDS"; }

# The race detector is linked with a C compiler, which a fresh machine need not have.
compiler() {
  if command -v "${CC:-gcc}" >/dev/null; then return; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "test.sh: the race detector needs a C compiler: install gcc" >&2
    exit 1
  fi
  step "installing gcc, for the race detector"
  export DEBIAN_FRONTEND=noninteractive
  local get=(apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends gcc libc6-dev)
  "${get[@]}" >/dev/null || { apt-get update -qq && "${get[@]}" >/dev/null; }
}

compiler

step "assets for envtest"
KUBEBUILDER_ASSETS=$(hack/envtest-assets.sh)
export KUBEBUILDER_ASSETS
echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"

step "go vet, on the e2e stories too"
go vet ./...
go vet -tags e2e,conformance,prometheus ./test/...

step "unit tests and envtest, with the race detector"
CGO_ENABLED=1 go test -race -timeout 10m ./...

# The race detector allocates, so tests that count allocations are built without it; they alone run again: those in files with
# that build tag, and those named so beside such a file.
step "zero-allocation tests, without the race detector"
mapfile -t files < <(git grep -l --untracked '^//go:build .*!race' -- '*_test.go' || true)
if [ ${#files[@]} -gt 0 ]; then
  names=$({ grep -ho '^func Test[A-Za-z0-9_]*' "${files[@]}" || true; } | sed 's/^func \(.*\)/^\1$/' | sort -u | paste -sd '|')
  mapfile -t packages < <(printf './%s\n' "${files[@]}" | xargs -n 1 dirname | sort -u)
  go test -count=1 -run "${names:+$names|}Alloc" "${packages[@]}"
else
  echo "none"
fi

step "what must compile on other systems"
GOOS=darwin GOARCH=arm64 go build ./runner/... ./internal/target/...

step "done"
