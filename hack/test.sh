#!/bin/bash
# test.sh: everything that needs no cluster. Says what it does and how long it took.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS='-trimpath -buildvcs=false' CGO_ENABLED=0

step() { printf '\n==> %s (%d s so far)\n' "$1" "$SECONDS"; }

# The race detector is linked with a C compiler, which a fresh machine may not have.
step "the C compiler of the race detector"
compiler=${CC:-gcc}
[ -n "${CC:-}" ] || hack/install.sh gcc=gcc,libc6-dev
echo '#include <stdlib.h>' | "$compiler" -E - >/dev/null || { echo "test.sh: $compiler does not find <stdlib.h>: install the C library's headers (Debian's package is libc6-dev)" >&2; exit 1; }

step "assets for envtest"
KUBEBUILDER_ASSETS=$(hack/envtest-assets.sh)
export KUBEBUILDER_ASSETS
echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"

step "go vet, on the e2e stories too"
make -s vet

# The step above has vetted the tests: without -vet=off, go test would vet them and all modules a second time, for the race detector.
gotest() { go test -vet=off -json "$@" | go run ./hack/gotest -skips hack/skips.txt; }

# architecture_test.go checks that pure packages have no goroutines. The rows of test/integration share only the client, and the
# compiler that they call has tests with the race detector, which would make them several times as slow.
raceless='/(internal/(histogram|shard|result|verdict|search|text)|runner/pace|controllers/internal/desired|test/integration)$'
all=$(go list ./...)

step "pure packages, and rules and bounds in a real API server, without the race detector"
mapfile -t packages < <(grep -E "$raceless" <<<"$all")
gotest -timeout 20m "${packages[@]}"

step "unit tests and envtest, with the race detector"
mapfile -t packages < <(grep -vE "$raceless" <<<"$all")
CGO_ENABLED=1 gotest -race -timeout 20m "${packages[@]}"

# The race detector allocates, so tests that count allocations are built without it; they alone run again: those in files with
# that build tag, and those named so beside such a file.
step "zero-allocation tests, without the race detector"
mapfile -t files < <(git grep -l --untracked '^//go:build .*!race' -- '*_test.go' || true)
if [ ${#files[@]} -gt 0 ]; then
  names=$({ grep -ho '^func Test[A-Za-z0-9_]*' "${files[@]}" || true; } | sed 's/^func \(.*\)/^\1$/' | sort -u | paste -sd '|')
  mapfile -t packages < <(printf './%s\n' "${files[@]}" | xargs -n 1 dirname | sort -u)
  gotest -count=1 -run "${names:+$names|}Alloc" "${packages[@]}"
else
  echo "none"
fi

step "what must compile on other systems"
GOOS=darwin GOARCH=arm64 go build ./runner/... ./internal/target/...

step "done"
