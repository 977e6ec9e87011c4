#!/bin/bash
# comment.sh writes h2surge-report.md as a comment to PULL_REQUEST, or replaces the comment that an earlier run of the same NAME wrote.
set -euo pipefail
api() { curl -fsS --retry 3 -H "Authorization: Bearer $TOKEN" -H 'Accept: application/vnd.github+json' "$@"; }
repository=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY
comment=''
for ((page = 1; page <= 20; page++)); do
  list=$(api "$repository/issues/$PULL_REQUEST/comments?per_page=100&page=$page")
  comment=$(jq -r --arg mark "<!-- h2surge $NAME -->" 'map(select(.body | startswith($mark)))[0].id // empty' <<<"$list")
  if [ -n "$comment" ] || [ "$(jq length <<<"$list")" -lt 100 ]; then break; fi
done
# GitHub takes up to 65536 characters.
body=$(jq -Rs '{body: .[:65000]}' h2surge-report.md)
if [ -n "$comment" ]; then
  api -X PATCH "$repository/issues/comments/$comment" -d "$body" >/dev/null
else
  api -X POST "$repository/issues/$PULL_REQUEST/comments" -d "$body" >/dev/null
fi
