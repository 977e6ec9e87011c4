#!/bin/bash
# e2e-long.sh TIME: runs the soak of test/soak for TIME, with the h2surge that it builds. It needs no cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p dist
go build -o dist/soak-h2surge ./cmd/h2surge
SOAK="${1:-20m}" H2SURGE="$PWD/dist/soak-h2surge" go test -tags soak -count=1 -timeout 0 -v ./test/soak
