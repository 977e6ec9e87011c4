#!/bin/bash
# test.sh: all tests that need no cluster. It shows what it does and how long it took. "make race" runs them with the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS='-trimpath -buildvcs=false' CGO_ENABLED=0

KUBEBUILDER_ASSETS=$(hack/envtest-assets.sh)
export KUBEBUILDER_ASSETS
echo "==> envtest's programs took $SECONDS s; they are built once and stay in $KUBEBUILDER_ASSETS"

# go test builds and runs packages in this order: those that take the longest come first. Many tests wait, so more packages run at a
# time than there are CPUs. "make check" and "make verify" vet the code.
SECONDS=0
go test -vet=off -json -timeout 20m -p 4 ./controllers/loadtest ./internal/cli ./test/integration ./controllers/... ./runner/... ./... |
  hack/gotest.sh
echo "==> the tests took $SECONDS s"
