{{- /* Made by hack/chart.sh of config/rbac: do not edit. */ -}}

{{- define "h2surge.rules.manager" -}}
- apiGroups:
  - ""
  resources:
  - configmaps
  verbs:
  - create
  - get
  - list
  - watch
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - ""
  resources:
  - secrets
  verbs:
  - create
- apiGroups:
  - authentication.k8s.io
  resources:
  - tokenreviews
  verbs:
  - create
- apiGroups:
  - authorization.k8s.io
  resources:
  - subjectaccessreviews
  verbs:
  - create
- apiGroups:
  - batch
  resources:
  - jobs
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch
- apiGroups:
  - h2surge.io
  resources:
  - loadtests
  verbs:
  - delete
  - get
  - list
  - watch
- apiGroups:
  - h2surge.io
  resources:
  - loadtests/status
  verbs:
  - patch
{{- end }}

{{- define "h2surge.rules.own" -}}
- apiGroups:
  - ""
  resources:
  - secrets
  verbs:
  - create
- apiGroups:
  - ""
  resourceNames:
  - h2surge-ca
  resources:
  - secrets
  verbs:
  - get
  - update
{{- end }}

{{- define "h2surge.rules.leaderElection" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [manager.h2surge.io]
  verbs: [get, update]
- apiGroups: ["", events.k8s.io]  # who leads is told in events
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{- define "h2surge.rules.metricsReader" -}}
- nonResourceURLs: [/metrics]
  verbs: [get]
{{- end }}

{{- define "h2surge.rules.viewer" -}}
- apiGroups: [h2surge.io]
  resources: [loadtests, loadtests/status, loadtests/scale]
  verbs: [get, list, watch]
{{- end }}

{{- define "h2surge.rules.editor" -}}
- apiGroups: [h2surge.io]
  resources: [loadtests, loadtests/scale]
  verbs: [create, delete, deletecollection, patch, update]
{{- end }}
