#!/bin/bash
# licences.sh: fails if a module in the programs has a licence that is not in the list below, or none. "licences.sh -" reads the modules, NAME
# FOLDER in each line, from standard input.
set -euo pipefail
cd "$(dirname "$0")/.."

# Allowed licences, and what only their text has. They ask for nothing but their text and a notice.
declare -A allowed=(
  [Apache-2.0]='Apache License,? Version 2\.0'
  [BSD]='Redistribution and use in source and binary forms, with or without modification, are permitted'
  [ISC]='Permission to use, copy, modify,? and(/or)? distribute this software for any purpose with or without fee'
  [MIT]='Permission is hereby granted, free of charge, to any person obtaining a copy'
  [MPL-2.0]='Mozilla Public License,? (Version|v\.) 2\.0'
  [Unlicense]='This is free and unencumbered software released into the public domain'
  [Zlib]="This software is provided 'as-is', without any express or implied warranty"
)
# The text of MPL-2.0 names the GPL, too.
refused='(GENERAL PUBLIC|Business Source|Server Side Public|Elastic) Licen[sc]e|Commons Clause|non-?commercial'

modules() { # apart from the main module
  go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/...
}

[ "${1:-}" = - ] && list=$(cat) || list=$(modules)
declare -A count
failed=0
while read -r name dir; do
  text=$(find "$dir" -maxdepth 1 -type f \( -iname 'licen*' -o -iname 'copying*' -o -iname 'unlicense*' \) -exec cat {} + | tr -s '[:space:]' ' ')
  found=''
  for l in "${!allowed[@]}"; do
    if grep -qiE "${allowed[$l]}" <<<"$text"; then found+="$l " count[$l]=$((${count[$l]:-0} + 1)); fi
  done
  if [ -z "$found" ] || { [[ $found != *MPL* ]] && grep -oiE "$refused" <<<"$text" >&2; }; then
    echo "licences.sh: $name: ${found:-the licence is not known }in $dir; allowed: ${!allowed[*]}" >&2
    failed=1
  fi
done < <(sort -u <<<"$list" | grep .)
for l in "${!count[@]}"; do echo "$l: ${count[$l]} modules"; done | sort
exit $failed
