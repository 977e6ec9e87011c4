#!/bin/bash
# verify.sh fails if generated files differ from the committed ones, if code is not formatted, or if text that users see contains a word
# that hack/prose/rules.yaml replaces. "make verify" runs it after it has regenerated all files.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

mapfile -t sources < <(git ls-files -co --exclude-standard '*.go')
unformatted=$(gofmt -s -l "${sources[@]}")
if [ -n "$unformatted" ]; then
  echo "not formatted (make fmt):" && echo "$unformatted"
  failed=1
fi
generated=(api config/crd config/rbac charts/h2surge/templates/{crd.yaml,_rules.tpl} docs/api.md docs/metrics.md docs/schema)
if ! git diff --exit-code -- "${generated[@]}" || [ -n "$(git ls-files -o --exclude-standard -- "${generated[@]}")" ]; then
  git ls-files -o --exclude-standard -- "${generated[@]}"
  echo "generated files differ from the committed ones: commit what make generate manifests docs made"
  failed=1
fi
go run ./hack/prose || failed=1
if hack/install.sh shellcheck=shellcheck; then
  mapfile -t scripts < <(git grep -l '^#!/bin/bash' -- hack test .ci)
  shellcheck -x -S warning "${scripts[@]}" || failed=1
elif [ -n "${CI:-}" ]; then
  failed=1
fi
exit $failed
