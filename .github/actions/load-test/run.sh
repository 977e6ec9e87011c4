#!/bin/bash
# run.sh runs the LoadTest MANIFEST and writes h2surge-report.json, .html and .xml (JUnit), and h2surge-report.md, which is also added to the
# summary of the job. If h2surge-base.json is there, it compares both. The outputs are code, verdict and worse.
set -uo pipefail
rm -f h2surge-report.*
read -ra args <<<"${ARGS:-}"
h2surge run -f "$MANIFEST" ${TARGET_URL:+--target-url "$TARGET_URL"} -q ${args[@]+"${args[@]}"} --output-file h2surge-report.json \
  --output-file h2surge-report.html --output-file h2surge-report.xml --output-file h2surge-summary.md
code=$?
# Annotations: one for each failed threshold, else one for the reason. A line must not end in the middle.
escape='gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A")'
verdict=Error
if [ -s h2surge-report.json ]; then
  verdict=$(jq -r .verdict.outcome h2surge-report.json)
  jq -r --arg file "$MANIFEST" ".verdict | select(.outcome != \"Passed\")
    | (if .outcome == \"Failed\" then \"error\" else \"warning\" end) as \$level
    | [.thresholds[]? | select(.passed == false)] as \$failed
    | if \$failed != [] and .outcome == \"Failed\"
      then \$failed[] | \"::error file=\(\$file),title=threshold \(.name)::\" + (\"\([.metric, .percentile // empty] | join(\" \")) is \(.observed), limit \(.limit)\" | $escape)
      else \"::\(\$level) file=\(\$file),title=\(.outcome)::\" + (.message | $escape) end" h2surge-report.json
else
  echo "::error file=$MANIFEST,title=h2surge::h2surge run ended with exit code $code and without a report"
fi

worse=false
{
  echo "<!-- h2surge $NAME -->"
  if [ -s h2surge-summary.md ]; then cat h2surge-summary.md; else printf '## %s: no report\n\nh2surge run ended with exit code %s.\n' "$NAME" "$code"; fi
  if [ -s h2surge-base.json ] && [ -s h2surge-report.json ]; then
    printf '\n## Compared with the base branch\n\n'
    h2surge compare h2surge-base.json h2surge-report.json --tolerance "${TOLERANCE:-10%}" -o markdown
    [ $? != 2 ] || worse=true
  fi
} >h2surge-report.md
rm -f h2surge-summary.md
if [ $worse = true ]; then echo "::warning file=$MANIFEST,title=slower than the base branch::h2surge compare found a worse figure: see the summary of the job"; fi
cat h2surge-report.md >>"$GITHUB_STEP_SUMMARY"
printf 'code=%s\nverdict=%s\nworse=%s\n' "$code" "$verdict" $worse >>"$GITHUB_OUTPUT"
