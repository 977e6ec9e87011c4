#!/bin/bash
# race.sh: runs the tests of the packages that start or synchronize goroutines with the race detector. The other packages cannot have
# a race; architecture_test.go checks that pure packages have no goroutines. cmd/manager is left out: its only goroutine serves profiles,
# and it alone needs the libraries of the API server, two hundred packages.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS='-trimpath -buildvcs=false' CGO_ENABLED=1

# The race detector is linked with a C compiler, which a fresh machine may not have.
compiler=${CC:-gcc}
[ -n "${CC:-}" ] || hack/install.sh gcc=gcc,libc6-dev
echo '#include <stdlib.h>' | "$compiler" -E - >/dev/null || { echo "race.sh: $compiler does not find <stdlib.h>: install the C library's headers (Debian's package is libc6-dev)" >&2; exit 1; }

KUBEBUILDER_ASSETS=$(hack/envtest-assets.sh)
export KUBEBUILDER_ASSETS
mapfile -t packages < <(git grep -lE --untracked '^\s+go [a-zA-Z(]|t\.Parallel\(\)|httptest\.New|"sync"|"sync/atomic"' -- cmd controllers internal runner |
  xargs -n 1 dirname | sort -u | grep -vx cmd/manager | sed 's|^|./|')
go test -race -vet=off -json -timeout 20m -p 4 ./controllers/loadtest "${packages[@]}" | hack/gotest.sh
