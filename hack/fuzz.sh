#!/bin/bash
# fuzz.sh TIME [PACKAGES]: runs each fuzz target for TIME, one after another (go test takes one at a time): those of the
# whole project, or of the folders that match a pattern of grep -E.
set -euo pipefail
cd "$(dirname "$0")/.."
git grep -o --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | while IFS=: read -r file name; do
  name=${name#func }
  grep -qE "${2:-.}" <<<"$(dirname "$file")" || continue
  echo "==> $name in $(dirname "$file")"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "${1:-20s}" "./$(dirname "$file")" </dev/null
done
