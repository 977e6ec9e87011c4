#!/bin/bash
# fuzz.sh TIME: runs each fuzz target of the project for TIME, one after another (go test takes one at a time).
set -euo pipefail
cd "$(dirname "$0")/.."
git grep -o --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | while IFS=: read -r file name; do
  name=${name#func }
  echo "==> $name in $(dirname "$file")"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "${1:-20s}" "./$(dirname "$file")" </dev/null
done
