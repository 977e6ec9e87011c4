#!/bin/bash
# e2e-long.sh TIME: runs the soak of test/soak for TIME, and searches for drawn capacities (8 minutes), with the h2surge that it builds. It needs no cluster.
# Heap profiles of h2surge after a quarter, after a half and near the end are in dist/soak.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p dist
go build -tags soak -o dist/soak-h2surge ./cmd/h2surge
SOAK="${1:-20m}" H2SURGE="$PWD/dist/soak-h2surge" HEAP="$PWD/dist/soak" go test -tags soak -count=1 -timeout 0 -v ./test/soak
