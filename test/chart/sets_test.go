//go:build chart

package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

// A set has the values of one kind of installation, and what is particular to its objects.
type set struct {
	values string
	check  func(*testing.T, []*unstructured.Unstructured)
}

var sets = map[string]set{
	"namespaced with secure metrics": {`
watchNamespaces: [team-a, team-b]
metrics: {readers: [{namespace: monitoring, name: prometheus}], serviceMonitor: {enabled: true}}
`, namespacedSecure},
	"namespaced without cluster rights": {`
crd: {install: false}
watchNamespaces: [team-a]
rbac: {metricsAuth: false}
`, func(t *testing.T, all []*unstructured.Unstructured) { inNamespaces(t, all) }},
	"air-gapped": {`
image: {repository: "registry.internal:5000/mirror/h2surge", digest: "` + digest + `", pullSecrets: [mirror]}
`, airGapped},
	"OpenShift": {`
podSecurityContext: {seccompProfile: null}
nodeSelector: {node-role.kubernetes.io/worker: ""}
`, openShift},
	"HA": {`
replicas: 3
podDisruptionBudget: {maxUnavailable: 1}
strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0}}
priorityClassName: system-cluster-critical
`, highlyAvailable},
	"everything off": {`
crd: {install: false}
rbac: {create: false}
serviceAccount: {create: false, name: existing}
leaderElection: {enabled: false}
podDisruptionBudget: {enabled: false}
metrics: {enabled: false}
test: {enabled: false}
`, off},
	"volumes and environment": {`
env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
envFrom: [{secretRef: {name: storage-credentials}}]
extraVolumes: [{name: ca, configMap: {name: company-ca}}]
extraVolumeMounts: [{name: ca, mountPath: /etc/ssl/certs, readOnly: true}]
`, extended},
	"probes and annotations": {`
podAnnotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}
deploymentAnnotations: {reloader.stakater.com/auto: "true"}
livenessProbe: {timeoutSeconds: 5, failureThreshold: 6}
readinessProbe: null
startupProbe: {periodSeconds: 2, failureThreshold: 30}
terminationGracePeriodSeconds: 60
`, probed},
	"certificate and Prometheus's own token": {`
metrics:
  tlsSecret: metrics-cert
  serviceMonitor:
    enabled: true
    scrapeTimeout: 10s
    authorization: {credentials: {name: scrape-token, key: token}}
    relabelings: [{action: labeldrop, regex: instance}]
    metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: "workqueue_.*"}]
  podMonitor:
    enabled: true
    scrapeTimeout: 4s
    relabelings: [{targetLabel: cluster, replacement: lab}]
    metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: "go_.*"}]
`, scraped},
	"second release in a namespace": {`
crd: {install: false}
leaderElection: {id: second.h2surge.io}
metrics: {prometheusRule: {enabled: true}, dashboards: {enabled: true}}
`, second},
	"network policies": {policies, limited},
	"network policies in namespaces": {`
watchNamespaces: [team-a, team-b]
networkPolicy: {enabled: true}
`, limitedInNamespaces},
}

// policies of an installation whose CNI enforces them.
const policies = `
config: {resultStorage: {endpoint: "http://minio.storage:9000", bucket: results}}
metrics: {prometheusRule: {enabled: true}}
networkPolicy:
  enabled: true
  runnerNamespaces: [load]
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  operatorEgress:
    apiServer: {ports: [16443], to: [{ipBlock: {cidr: 10.0.0.1/32}}]}
    extra: [{ports: [{port: 80, protocol: TCP}], to: [{ipBlock: {cidr: 169.254.169.254/32}}]}]
`

// TestSets: each set renders objects that an API server knows, whose pods are restricted, and that fit its purpose.
func TestSets(t *testing.T) {
	for name, s := range sets {
		t.Run(name, func(t *testing.T) {
			all := objects(t, render(t, s.values))
			ofTheAPI(t, all)
			for where, spec := range podSpecs(t, all) {
				restricted(t, where, spec)
			}
			s.check(t, all)
		})
	}
}

// as converts an object to its Go type.
func as[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, out, true); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return out
}

func deployment(t *testing.T, all []*unstructured.Unstructured) *appsv1.Deployment {
	t.Helper()
	return as[appsv1.Deployment](t, find(t, all, "Deployment", "h2surge-controller-manager"))
}

// operatorConfig is the configuration that the operator reads.
func operatorConfig(t *testing.T, all []*unstructured.Unstructured) *configv1alpha1.OperatorConfig {
	t.Helper()
	text := as[corev1.ConfigMap](t, find(t, all, "ConfigMap", "h2surge-config")).Data["config.yaml"]
	cfg, err := configv1alpha1.Load([]byte(text), configv1alpha1.Environment{Image: "h2surge:dev", Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// names returns the names of the objects of a kind, in order.
func names(all []*unstructured.Unstructured, kind string) (out []string) {
	for _, o := range all {
		if o.GetKind() == kind {
			out = append(out, o.GetName())
		}
	}
	slices.Sort(out)
	return out
}

// podSpecs are those of the operator, the pod of "helm test" and the runner of its LoadTest.
func podSpecs(t *testing.T, all []*unstructured.Unstructured) map[string]corev1.PodSpec {
	t.Helper()
	out := map[string]corev1.PodSpec{}
	for _, o := range all {
		switch o.GetKind() {
		case "Deployment":
			out[o.GetName()] = as[appsv1.Deployment](t, o).Spec.Template.Spec
		case "Pod":
			out[o.GetName()] = as[corev1.Pod](t, o).Spec
		case "LoadTest":
			template := field[map[string]any](t, o.Object, "spec", "runner", "podTemplate")
			out["runner of "+o.GetName()] = as[corev1.PodTemplateSpec](t, &unstructured.Unstructured{Object: template}).Spec
		}
	}
	return out
}

func containers(spec corev1.PodSpec) []corev1.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// restricted checks what the pod security standard "restricted" asks of a container, and that the pod uses nothing of its node. A
// container whose pod has no seccomp profile gets one from its runtime class or, in OpenShift, from its security context constraint.
func restricted(t *testing.T, where string, spec corev1.PodSpec) {
	t.Helper()
	if spec.HostNetwork || spec.HostPID || spec.HostIPC {
		t.Errorf("%s: the pod uses namespaces of its node", where)
	}
	if s := ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{}); !ptr.Deref(s.RunAsNonRoot, false) && !strings.HasPrefix(where, "runner ") {
		t.Errorf("%s: the pod may run as root: %+v", where, s) // the operator sets this in the pods of runners
	}
	for _, v := range spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("%s: volume %s is a path of the node", where, v.Name)
		}
	}
	for _, c := range containers(spec) {
		s := ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
		if ptr.Deref(s.AllowPrivilegeEscalation, true) || !ptr.Deref(s.ReadOnlyRootFilesystem, false) || ptr.Deref(s.Privileged, false) {
			t.Errorf("%s: security context of %s: %+v", where, c.Name, s)
		}
		if s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s: capabilities of %s: %+v", where, c.Name, s.Capabilities)
		}
	}
}

// inNamespaces checks that no object belongs to the whole cluster, except those with the given names.
func inNamespaces(t *testing.T, all []*unstructured.Unstructured, except ...string) {
	t.Helper()
	for _, o := range all {
		if o.GetNamespace() == "" && o.GetKind() != "CustomResourceDefinition" && !slices.Contains(except, o.GetKind()+" "+o.GetName()) {
			t.Errorf("%s %s is in no namespace", o.GetKind(), o.GetName())
		}
	}
}

// The operator can ask who reads its metrics and has no other right outside the namespaces.
func namespacedSecure(t *testing.T, all []*unstructured.Unstructured) {
	inNamespaces(t, all, "ClusterRole h2surge-metrics-auth", "ClusterRoleBinding h2surge-metrics-auth",
		"ClusterRole h2surge-metrics-reader", "ClusterRoleBinding h2surge-metrics-reader")
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
	}
	if diff := cmp.Diff(want, as[rbacv1.ClusterRole](t, find(t, all, "ClusterRole", "h2surge-metrics-auth")).Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	subject := as[rbacv1.ClusterRoleBinding](t, find(t, all, "ClusterRoleBinding", "h2surge-metrics-auth")).Subjects
	if want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "h2surge-controller-manager", Namespace: namespace}}; !slices.Equal(subject, want) {
		t.Errorf("subjects %+v, want %+v", subject, want)
	}
	if cfg := operatorConfig(t, all); !*cfg.Metrics.Secure || !slices.Equal(cfg.Namespaces, []string{"team-a", "team-b"}) {
		t.Errorf("configuration: %+v", cfg)
	}
	endpoint := endpointOf(t, all, "ServiceMonitor", "h2surge-controller-manager")
	if endpoint["scheme"] != "https" || endpoint["bearerTokenFile"] == nil {
		t.Errorf("endpoint: %v", endpoint)
	}
}

func endpointOf(t *testing.T, all []*unstructured.Unstructured, kind, name string) map[string]any {
	t.Helper()
	list := field[[]any](t, find(t, all, kind, name).Object, "spec", map[string]string{"ServiceMonitor": "endpoints", "PodMonitor": "podMetricsEndpoints"}[kind])
	if len(list) != 1 {
		t.Fatalf("%s %s has %d endpoints", kind, name, len(list))
	}
	return list[0].(map[string]any)
}

// All images come from one registry, with the Secret for it.
func airGapped(t *testing.T, all []*unstructured.Unstructured) {
	const image = "registry.internal:5000/mirror/h2surge@" + digest
	specs := podSpecs(t, all)
	if len(specs) != 3 {
		t.Fatalf("pods: %v", slices.Sorted(maps.Keys(specs)))
	}
	for where, spec := range specs {
		for _, c := range containers(spec) {
			if c.Image != image {
				t.Errorf("%s: image %s of %s", where, c.Image, c.Name)
			}
		}
		if want := []corev1.LocalObjectReference{{Name: "mirror"}}; !slices.Equal(spec.ImagePullSecrets, want) {
			t.Errorf("%s: pull secrets %v", where, spec.ImagePullSecrets)
		}
	}
	env := deployment(t, all).Spec.Template.Spec.Containers[0].Env
	if !slices.Contains(env, corev1.EnvVar{Name: "H2SURGE_IMAGE", Value: image}) {
		t.Errorf("the runners get another image: %v", env)
	}
}

// OpenShift assigns user, group and seccomp profile of a pod, and refuses pods that choose them.
func openShift(t *testing.T, all []*unstructured.Unstructured) {
	for where, spec := range podSpecs(t, all) {
		if s := spec.SecurityContext; s != nil && (s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || s.SeccompProfile != nil || len(s.SupplementalGroups) > 0) {
			t.Errorf("%s: security context of the pod %+v", where, s)
		}
		for _, c := range containers(spec) {
			if s := c.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.SeccompProfile != nil {
				t.Errorf("%s: security context of %s %+v", where, c.Name, s)
			}
		}
		if _, ok := spec.NodeSelector["node-role.kubernetes.io/worker"]; !ok {
			t.Errorf("%s: node selector %v", where, spec.NodeSelector)
		}
	}
}

func highlyAvailable(t *testing.T, all []*unstructured.Unstructured) {
	d := deployment(t, all)
	if *d.Spec.Replicas != 3 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 || d.Spec.Template.Spec.PriorityClassName == "" {
		t.Errorf("deployment: %+v", d.Spec)
	}
	spread := d.Spec.Template.Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].TopologyKey != corev1.LabelHostname || !cmp.Equal(spread[0].LabelSelector, d.Spec.Selector) {
		t.Errorf("spread: %+v", spread)
	}
	pdb := as[policyv1.PodDisruptionBudget](t, find(t, all, "PodDisruptionBudget", "h2surge-controller-manager"))
	if pdb.Spec.MaxUnavailable.IntValue() != 1 || !cmp.Equal(pdb.Spec.Selector, d.Spec.Selector) {
		t.Errorf("budget: %+v", pdb.Spec)
	}
	if !*operatorConfig(t, all).LeaderElection.Enabled || !slices.Contains(names(all, "RoleBinding"), "h2surge-leader-election") {
		t.Error("the replicas do not elect a leader")
	}
}

// The operator has a Lease of its own, which its Role, its alert and its dashboard know.
func second(t *testing.T, all []*unstructured.Unstructured) {
	const id = "second.h2surge.io"
	if got := operatorConfig(t, all).LeaderElection.ID; got != id {
		t.Errorf("Lease %s, want %s", got, id)
	}
	var named []string
	for _, r := range as[rbacv1.Role](t, find(t, all, "Role", "h2surge-leader-election")).Rules {
		named = append(named, r.ResourceNames...)
	}
	if !slices.Equal(named, []string{id}) {
		t.Errorf("Leases of the Role: %q, want %s", named, id)
	}
	for _, o := range []*unstructured.Unstructured{
		find(t, all, "PrometheusRule", "h2surge"), find(t, all, "ConfigMap", "h2surge-dashboard-fleet"),
	} {
		if text := fmt.Sprint(o.Object); !strings.Contains(text, id) || strings.Contains(text, "manager.h2surge.io") {
			t.Errorf("%s %s: another Lease in\n%s", o.GetKind(), o.GetName(), text)
		}
	}
}

// Only what the operator cannot run without.
func off(t *testing.T, all []*unstructured.Unstructured) {
	var got []string
	for _, o := range all {
		got = append(got, o.GetKind()+" "+o.GetName())
	}
	slices.Sort(got)
	if want := []string{"ConfigMap h2surge-config", "Deployment h2surge-controller-manager"}; !slices.Equal(got, want) {
		t.Errorf("objects %q, want %q", got, want)
	}
	d := deployment(t, all).Spec
	if d.Strategy.Type != appsv1.RecreateDeploymentStrategyType || d.Template.Spec.ServiceAccountName != "existing" || len(d.Template.Spec.Containers[0].Ports) != 1 {
		t.Errorf("deployment: %+v", d)
	}
}

func extended(t *testing.T, all []*unstructured.Unstructured) {
	spec := deployment(t, all).Spec.Template.Spec
	c := spec.Containers[0]
	if last := c.Env[len(c.Env)-1]; last.Name != "HTTPS_PROXY" || len(c.EnvFrom) != 1 || c.EnvFrom[0].SecretRef.Name != "storage-credentials" {
		t.Errorf("environment: %+v, %+v", c.Env, c.EnvFrom)
	}
	var volumes, mounts []string
	for _, v := range spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, m := range c.VolumeMounts {
		mounts = append(mounts, m.Name+" "+m.MountPath)
	}
	if want := []string{"config", "tmp", "ca"}; !slices.Equal(volumes, want) {
		t.Errorf("volumes %q, want %q", volumes, want)
	}
	if want := []string{"config /etc/h2surge", "tmp /tmp", "ca /etc/ssl/certs"}; !slices.Equal(mounts, want) {
		t.Errorf("mounts %q, want %q", mounts, want)
	}
}

// A probe keeps its path and port, and the default of each time that the values do not set.
func probed(t *testing.T, all []*unstructured.Unstructured) {
	d := deployment(t, all)
	spec := d.Spec.Template.Spec
	c := spec.Containers[0]
	if p := c.LivenessProbe; p.HTTPGet.Path != "/healthz" || p.InitialDelaySeconds != 15 || p.TimeoutSeconds != 5 || p.FailureThreshold != 6 {
		t.Errorf("liveness: %+v", p)
	}
	if p := c.ReadinessProbe; p.HTTPGet.Path != "/readyz" || p.PeriodSeconds != 0 {
		t.Errorf("readiness: %+v", p)
	}
	if p := c.StartupProbe; p.HTTPGet.Path != "/healthz" || p.FailureThreshold != 30 {
		t.Errorf("startup: %+v", p)
	}
	if d.Annotations["reloader.stakater.com/auto"] != "true" || d.Spec.Template.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "true" {
		t.Errorf("annotations: %v, %v", d.Annotations, d.Spec.Template.Annotations)
	}
	if *spec.TerminationGracePeriodSeconds != 60 {
		t.Errorf("grace period: %d", *spec.TerminationGracePeriodSeconds)
	}
}

// The operator serves the certificate of the Secret from the directory where the pod has it, and Prometheus verifies it by the name
// of the Service.
func scraped(t *testing.T, all []*unstructured.Unstructured) {
	spec := deployment(t, all).Spec.Template.Spec
	i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "metrics-cert" })
	if i < 0 {
		t.Fatalf("no volume of the Secret: %+v", spec.Volumes)
	}
	mount := corev1.VolumeMount{Name: spec.Volumes[i].Name, MountPath: operatorConfig(t, all).Metrics.CertDir, ReadOnly: true}
	if !slices.Contains(spec.Containers[0].VolumeMounts, mount) {
		t.Errorf("mounts %+v, want %+v", spec.Containers[0].VolumeMounts, mount)
	}
	service := find(t, all, "Service", "h2surge-metrics")
	want := map[string]any{
		"port": "https", "scheme": "https", "interval": "30s", "scrapeTimeout": "10s", "honorLabels": true,
		"authorization": map[string]any{"credentials": map[string]any{"name": "scrape-token", "key": "token"}},
		"tlsConfig": map[string]any{
			"serverName": service.GetName() + "." + service.GetNamespace() + ".svc",
			"ca":         map[string]any{"secret": map[string]any{"name": "metrics-cert", "key": "ca.crt"}},
		},
		"relabelings":       []any{map[string]any{"action": "labeldrop", "regex": "instance"}},
		"metricRelabelings": []any{map[string]any{"action": "drop", "sourceLabels": []any{"__name__"}, "regex": "workqueue_.*"}},
	}
	if diff := cmp.Diff(want, endpointOf(t, all, "ServiceMonitor", "h2surge-controller-manager")); diff != "" {
		t.Errorf("ServiceMonitor (-want +got):\n%s", diff)
	}
	pods := endpointOf(t, all, "PodMonitor", "h2surge-runners")
	relabelings := pods["relabelings"].([]any)
	if last := relabelings[len(relabelings)-1].(map[string]any); last["targetLabel"] != "cluster" || len(relabelings) != 5 || pods["scrapeTimeout"] != "4s" ||
		!strings.Contains(field[[]any](t, pods, "metricRelabelings")[0].(map[string]any)["regex"].(string), "go_") {
		t.Errorf("PodMonitor: %v", pods)
	}
}
