#!/bin/bash
# gotest.sh [-v]: shows a run of "go test -json" (standard input) with gotestsum, and judges it:
#
#   go test -json ./... | hack/gotest.sh
#
# The end has the output of each failed test, the lines in which tests report figures (FIGURE) or say why they were skipped, what each failed test
# said first (a dump may follow it), the data races, whose output can be that of another test, and the sum. With -v, all output is shown as it
# comes. It fails if a test failed, if none passed, and, with CI=true, if a test was skipped that hack/skips.txt does not name.
set -euo pipefail
cd "$(dirname "$0")/.."
[ bin/tools/gotestsum -nt hack/tools/release/go.mod ] || make -s bin/tools/gotestsum >&2
format=pkgname
[ "${1:-}" != -v ] || format=standard-verbose
events=$(mktemp)
trap 'rm -f "$events"' EXIT
tee "$events" | bin/tools/gotestsum --raw-command --ignore-non-json-output-lines --no-color --format $format --format-hide-empty-pkg --format-icons text --hide-summary skipped -- cat || true
awk -v ci="${CI:-}" '
  function field(name) { return match($0, "\"" name "\":\"[^\"]*") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) : "" }
  # A pattern of path.Match with * only, as a regular expression.
  function pattern(p) { gsub(/[^A-Za-z0-9_*\/-]/, "[&]", p); gsub(/\*/, "[^/]*", p); return "^" p "$" }
  NR == FNR { if (NF > 2 && $1 !~ /^#/) { n++; pkg[n] = pattern($1); name[n] = pattern($2); why[n] = $0 } ; next }
  /"Action":"output"/ && /FIGURE|SKIPPED/ { out = $0; sub(/.*"Output":"/, "", out); sub(/(\\n)?"}$/, "", out); gsub(/\\"/, "\"", out); gsub(/\\t/, "\t", out); print out }
  /"Action":"output"/ && /"Output":"WARNING: DATA RACE/ { racing = 80 } # lines at most
  /"Action":"output"/ && racing {
    out = $0; sub(/.*"Output":"/, "", out); sub(/(\\n)?"}$/, "", out); gsub(/\\t/, "  ", out)
    races = races out "\n"; racing = /"Output":"=====/ ? 0 : racing - 1
  }
  /"Action":"output"/ && /"Output":" *[a-z0-9_]+_test\.go:[0-9]+: / {
    test = field("Package") " " field("Test")
    if (lines[test]++ < 10) { out = $0; sub(/.*"Output":" */, "", out); sub(/(\\n)?"}$/, "", out); said[test] = said[test] "\n  " substr(out, 1, 400) }
  }
  !/"Action":"(pass|fail|skip)"/ { next }
  !/"Test":"/ { if (/"Action":"fail"/ && !(field("Package") in failed)) broken++; next }
  /"Action":"pass"/ { passed++ }
  /"Action":"fail"/ { failures++; failed[field("Package")] = 1; test = field("Package") " " field("Test"); first = first "failed: " test said[test] "\n" }
  /"Action":"skip"/ {
    skipped++
    for (i = n; i > 0 && !(field("Package") ~ pkg[i] && field("Test") ~ name[i]); i--);
    if (i) print "skip: " why[i]; else { unlisted++; print "skip: " field("Package") " " field("Test") ": not in hack/skips.txt" }
  }
  END {
    printf "%s%s", races, first
    printf "%d passed, %d failed, %d skipped\n", passed, failures + broken, skipped
    if (failures + broken) exit 1
    if (!passed) { print "gotest.sh: no test passed"; exit 1 }
    if (ci == "true" && unlisted) { print "gotest.sh: " unlisted " tests were skipped that hack/skips.txt does not name: install what they need, or name each with its reason"; exit 1 }
  }
' hack/skips.txt "$events"
