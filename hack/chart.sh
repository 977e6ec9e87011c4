#!/bin/bash
# chart.sh: writes the parts of charts/h2surge that say the same as config/: the CRD and the rules of every role. Run by
# "make manifests", after controller-gen.
set -euo pipefail
cd "$(dirname "$0")/.."
templates=charts/h2surge/templates

# literally keeps Helm from taking braces in a text for its own.
literally() { sed -e 's/{{/{{ "{{" }}/g'; }

# rules FILE KIND NAME prints the items of "rules" of that object, as they stand, with their comments.
rules() {
  awk -v kind="$2" -v name="$3" '
    function flush() { if (k == kind && n == name) { printf "%s", text; found = 1 }; text = k = n = ""; on = 0 }
    /^---/ { flush(); next }
    /^kind: / { k = $2 }
    /^  name: / && n == "" { n = $2 }
    /^[a-z]/ { on = ($1 == "rules:"); next }
    on { if (text == "") indent = match($0, /[^ ]/); text = text substr($0, indent) "\n" }
    END { flush(); if (!found) { print "chart.sh: no " kind " " name " in " FILENAME > "/dev/stderr"; exit 1 } }
  ' "$1" | literally
}

# define NAME FILE KIND OBJECT prints a named template with these rules.
define() {
  printf '\n{{- define "h2surge.rules.%s" -}}\n' "$1"
  rules "$2" "$3" "$4"
  printf '{{- end }}\n'
}

crd() {
  echo '{{- /* Made by hack/chart.sh of config/crd/bases: do not edit. */ -}}'
  echo '{{- if .Values.crd.install }}'
  # helm.sh/resource-policy goes into the annotations that controller-gen always writes, the labels beside them.
  literally <config/crd/bases/h2surge.io_loadtests.yaml | sed -e '/^---$/d' -e '0,/^  annotations:$/s//&\
    {{- if .Values.crd.keep }}\
    helm.sh\/resource-policy: keep\
    {{- end }}/' -e '0,/^  name: loadtests.h2surge.io$/s//&\
  labels:\
    {{- include "h2surge.labels" . | nindent 4 }}/'
  echo '{{- end }}'
}

roles() {
  echo '{{- /* Made by hack/chart.sh of config/rbac: do not edit. */ -}}'
  define manager config/rbac/role.yaml ClusterRole h2surge-manager
  define own config/rbac/role.yaml Role h2surge-manager
  define leaderElection config/rbac/leader-election.yaml Role h2surge-leader-election
  define metricsReader config/rbac/metrics-reader.yaml ClusterRole h2surge-metrics-reader
  define viewer config/rbac/loadtest-viewer.yaml ClusterRole h2surge-loadtest-viewer
  define editor config/rbac/loadtest-editor.yaml ClusterRole h2surge-loadtest-editor
}

# Made whole before it takes the place of what is there.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
crd >"$work/crd.yaml"
roles >"$work/_rules.tpl"
cat "$work/crd.yaml" >$templates/crd.yaml
cat "$work/_rules.tpl" >$templates/_rules.tpl
