#!/bin/bash
# release-notes.sh VERSION: prints the section of CHANGELOG.md for a version such as v0.1.0. Fails if there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
awk -v heading="## ${1#v}" '
  /^## / { on = ($0 == heading || index($0, heading " ") == 1); found += on; next }
  on
  END { exit !found }
' CHANGELOG.md || { echo "release-notes.sh: CHANGELOG.md: no section ## ${1#v}; write one before the tag" >&2; exit 1; }
