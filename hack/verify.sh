#!/bin/bash
# verify.sh fails if generated files differ from the committed ones, if the runner does not compile for macOS, if a script has a mistake, or
# if text that users see contains a word that hack/prose/rules.yaml replaces. "make verify" runs it after it has regenerated all files.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

generated=(api config/crd config/rbac charts/h2surge/templates/{crd.yaml,_rules.tpl} docs/reference/api.md docs/reference/metrics.md docs/reference/schema internal/mock/rules/schema.json internal/compile/zz_generated.schema.go)
if ! git diff --exit-code -- "${generated[@]}" || [ -n "$(git ls-files -o --exclude-standard -- "${generated[@]}")" ]; then
  git ls-files -o --exclude-standard -- "${generated[@]}"
  echo "generated files differ from the committed ones: commit what make generate manifests docs made"
  failed=1
fi
GOOS=darwin GOARCH=arm64 go build ./runner/... ./internal/mock/... || failed=1
go run ./hack/prose || failed=1
if hack/install.sh shellcheck=shellcheck; then
  mapfile -t scripts < <(git grep -l '^#!/bin/bash' -- hack test .ci .github)
  shellcheck -x -S warning "${scripts[@]}" || failed=1
elif [ -n "${CI:-}" ]; then
  failed=1
fi
if [ -n "$(git tag --list 'v*')" ] && grep -q '<!-- until the first tag -->' README.md; then
  echo "README.md: a version has a tag: install what it published; the lines are in a comment of the page"
  failed=1
fi
bin/tools/actionlint -shellcheck "$(command -v shellcheck || true)" || failed=1
exit $failed
