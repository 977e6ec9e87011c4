{{- define "h2surge.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* With at most 40 characters, the name plus "-controller-manager" has at most 63. */ -}}
{{- define "h2surge.fullname" -}}
{{- $name := include "h2surge.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "h2surge.selectorLabels" -}}
app.kubernetes.io/name: {{ include "h2surge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end }}

{{- define "h2surge.labels" -}}
app.kubernetes.io/name: {{ include "h2surge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: h2surge
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* What the operator puts on every runner pod (controllers/internal/desired). */ -}}
{{- define "h2surge.runnerLabels" -}}
app.kubernetes.io/managed-by: h2surge
app.kubernetes.io/component: runner
{{- end }}

{{- define "h2surge.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (printf "%s-controller-manager" (include "h2surge.fullname" .)) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "h2surge.subjects" -}}
- kind: ServiceAccount
  name: {{ include "h2surge.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* The update strategy with all its fields. The API server would set those that are missing, and no later server-side apply removes
    such a field, but Recreate does not allow rollingUpdate. Without a Lease, two pods at a time would run every LoadTest twice. */ -}}
{{- define "h2surge.strategy" -}}
{{- $rolling := dict "type" "RollingUpdate" "rollingUpdate" (dict "maxSurge" "25%" "maxUnavailable" "25%") }}
{{- $strategy := mergeOverwrite $rolling (.Values.strategy | default dict) }}
{{- if and .Values.leaderElection.enabled (ne $strategy.type "Recreate") }}
{{- toYaml $strategy }}
{{- else -}}
type: Recreate
{{- end }}
{{- end }}

{{- define "h2surge.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s%s@%s" .repository (ternary (print ":" .tag) "" (ne .tag "")) .digest }}
{{- else }}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The operator's configuration. Health and metrics ports are those of the Deployment. */ -}}
{{- define "h2surge.config" -}}
apiVersion: config.h2surge.io/v1alpha1
kind: OperatorConfig
{{- with .Values.watchNamespaces }}
namespaces:
{{- toYaml . | nindent 2 }}
{{- end }}
leaderElection:
  enabled: {{ .Values.leaderElection.enabled }}
  id: {{ .Values.leaderElection.id | quote }}
metrics:
  bindAddress: {{ ternary ":8443" "0" .Values.metrics.enabled | quote }}
  secure: {{ .Values.metrics.secure }}
  {{- if include "h2surge.metricsCertificate" . }}
  certDir: /etc/h2surge-metrics
  {{- end }}
  keepFinished: {{ .Values.metrics.keepFinished }}
  maxFinished: {{ .Values.metrics.maxFinished }}
health:
  bindAddress: :8081
{{- with .Values.config }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The Secret with the certificate of the operator's metrics, if there is one. */ -}}
{{- define "h2surge.metricsCertificate" -}}
{{- if and .Values.metrics.enabled .Values.metrics.secure }}
{{- .Values.metrics.tlsSecret }}
{{- end }}
{{- end }}

{{- define "h2surge.testNamespace" -}}
{{- .Values.test.namespace | default (first (append .Values.watchNamespaces .Release.Namespace)) }}
{{- end }}

{{- define "h2surge.testPodTemplate" -}}
spec:
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  initContainers:
    - name: target
      image: {{ include "h2surge.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      restartPolicy: Always  # a sidecar of the runner, which ends with it
      command: [/h2surge]
      args: [target, --listen, "127.0.0.1:8080"]
      resources:
        requests: {cpu: 50m, memory: 32Mi}
        limits: {memory: 128Mi}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
{{- end }}

{{- /* "true" if a rule of a list matches the target of the test. A host pattern or a range counts if it is written as usual. */ -}}
{{- define "h2surge.matchesTest" -}}
{{- range . }}
{{- range .hosts }}
{{- if regexMatch (printf "^%s$" (. | replace "." "\\." | replace "*" ".*" | replace "?" ".")) "127.0.0.1" }}true{{ end }}
{{- end }}
{{- range .cidrs }}
{{- if regexMatch "^(127\\.0\\.0\\.[01]/[0-9]+|127\\.[0-9.]+/8|[0-9.]+/0)$" . }}true{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* "true" if a document has a field: a list has it if an element has it. Its arguments are the document and the path as a list. */ -}}
{{- define "h2surge.hasField" -}}
{{- $doc := index . 0 }}
{{- $path := index . 1 }}
{{- if not $path }}true
{{- else if kindIs "slice" $doc }}
{{- range $doc }}{{ include "h2surge.hasField" (list . $path) }}{{ end }}
{{- else if kindIs "map" $doc }}
{{- if hasKey $doc (first $path) }}{{ include "h2surge.hasField" (list (get $doc (first $path)) (rest $path)) }}{{ end }}
{{- end }}
{{- end }}

{{- /* The namespaces that get a NetworkPolicy for runners, as JSON. */ -}}
{{- define "h2surge.runnerNamespaces" -}}
{{- .Values.networkPolicy.runnerNamespaces | default .Values.watchNamespaces | toJson }}
{{- end }}

{{- /* The ports of DNS. A policy applies to the port of the pod: on OpenShift it is 5353, to which the Service maps port 53. */ -}}
{{- define "h2surge.dnsPorts" -}}
[{port: 53, protocol: UDP}, {port: 53, protocol: TCP}, {port: 5353, protocol: UDP}, {port: 5353, protocol: TCP}]
{{- end }}

{{- /* What the operator connects to. 8443 is the control port of runners (api/runner/v1alpha1). */ -}}
{{- define "h2surge.operatorEgress" -}}
{{- with .Values.networkPolicy.operatorEgress }}
{{- if .enabled -}}
egress:
  - ports: {{ include "h2surge.dnsPorts" $ }}
  - ports:
      {{- range .apiServer.ports }}
      - {port: {{ . }}, protocol: TCP}
      {{- end }}
    {{- with .apiServer.to }}
    to:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  - ports: [{port: 8443, protocol: TCP}]
    to:
      - podSelector:
          matchLabels:
            {{- include "h2surge.runnerLabels" $ | nindent 12 }}
        {{- if $.Values.watchNamespaces }}
        namespaceSelector:
          matchExpressions:
            - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson $.Values.watchNamespaces }}}
        {{- else }}
        namespaceSelector: {}
        {{- end }}
  {{- with $.Values.config.resultStorage }}
  {{- $url := urlParse .endpoint }}
  - ports: [{port: {{ regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (ternary "80" "443" (eq $url.scheme "http")) }}, protocol: TCP}]
  {{- end }}
  {{- with .extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The annotation runbook_url of an alert, whose name is a heading of the runbook. */ -}}
{{- define "h2surge.runbook" -}}
{{- with (index . 0).Values.metrics.prometheusRule.runbookURL -}}
runbook_url: {{ . }}#{{ index $ 1 | lower }}
{{- end }}
{{- end }}

{{- /* Values that are right one by one and make no sense together. */ -}}
{{- define "h2surge.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) }}
{{- fail "replicas: must be 1 if leaderElection.enabled is false, because each replica would run every LoadTest" }}
{{- end }}
{{- if and (not .Values.leaderElection.enabled) .Values.strategy (ne .Values.strategy.type "Recreate") }}
{{- fail "strategy.type: must be Recreate if leaderElection.enabled is false, because the old and the new pod would run every LoadTest" }}
{{- end }}
{{- if and .Values.metrics.tlsSecret (not .Values.metrics.secure) }}
{{- fail "metrics.tlsSecret: cannot be used with metrics.secure=false, which serves plain HTTP" }}
{{- end }}
{{- if and .Values.metrics.readers (not .Values.metrics.secure) }}
{{- fail "metrics.readers: cannot be used with metrics.secure=false, which allows every client to read metrics" }}
{{- end }}
{{- if and .Values.metrics.readers .Values.watchNamespaces (not .Values.rbac.metricsAuth) }}
{{- fail "metrics.readers: cannot be used with watchNamespaces and rbac.metricsAuth=false, because the chart then creates no ClusterRole for readers" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled: must be false if metrics.enabled is false" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.watchNamespaces) (not .Values.networkPolicy.runnerNamespaces) }}
{{- fail "networkPolicy.enabled: must be false if watchNamespaces and networkPolicy.runnerNamespaces are empty; list the namespaces of LoadTests in networkPolicy.runnerNamespaces" }}
{{- end }}
{{- if and .Values.test.enabled .Values.watchNamespaces (not (has (include "h2surge.testNamespace" .) .Values.watchNamespaces)) }}
{{- fail (printf "test.namespace: must be one of watchNamespaces, because the operator runs no LoadTest in %s" .Values.test.namespace) }}
{{- end }}
{{- if .Values.test.enabled }}
{{- include "h2surge.checkTest" . }}
{{- end }}
{{- end }}

{{- /* The operator would deny the LoadTest of the test, whose pod then only misses its deadline. */ -}}
{{- define "h2surge.checkTest" -}}
{{- $targets := (.Values.config).targets | default dict }}
{{- if and $targets.allowed (not (include "h2surge.matchesTest" $targets.allowed)) }}
{{- fail "test.enabled: must be false, or a rule of config.targets.allowed must match 127.0.0.1/32, because the target of helm test is in its runner pod" }}
{{- end }}
{{- if include "h2surge.matchesTest" $targets.denied }}
{{- fail "test.enabled: must be false, or no rule of config.targets.denied may match 127.0.0.1/32, because the target of helm test is in its runner pod" }}
{{- end }}
{{- $namespace := include "h2surge.testNamespace" . }}
{{- $throttled := int64 (((.Values.config).limits).requestsPerSecond) }}
{{- range .Values.tenants }}
{{- $most := int64 (.limits).requestsPerSecond }}
{{- if and (has $namespace .namespaces) $most (or (not $throttled) (gt $throttled $most)) }}
{{- fail (printf "test.enabled: must be false, or test.namespace must not be one of tenant %s, whose limit of requestsPerSecond denies the closed loop of helm test" .name) }}
{{- end }}
{{- end }}
{{- $template := fromYaml (include "h2surge.testPodTemplate" .) }}
{{- range ((.Values.config).runner).deniedPodFields }}
{{- if include "h2surge.hasField" (list $template (splitList "." .)) }}
{{- fail (printf "test.enabled: must be false with %s in config.runner.deniedPodFields, because the LoadTest of helm test has this field" .) }}
{{- end }}
{{- end }}
{{- end }}
