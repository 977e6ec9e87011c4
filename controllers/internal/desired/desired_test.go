package desired

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/golden"
)

const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func loadTest(change ...func(*v1alpha1.LoadTest)) *v1alpha1.LoadTest {
	lt := &v1alpha1.LoadTest{}
	lt.Namespace, lt.Name = "core", "pcf"
	lt.UID, lt.Generation = "5ae1c0de-0000-4000-8000-000000000001", 3
	lt.Spec.Runner.Shards = 2
	for _, f := range change {
		f(lt)
	}
	return lt
}

func template(doc string) func(*v1alpha1.LoadTest) {
	return func(lt *v1alpha1.LoadTest) {
		raw, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			panic(err)
		}
		lt.Spec.Runner.PodTemplate = &runtime.RawExtension{Raw: raw}
	}
}

func cpus(n int32) func(*v1alpha1.LoadTest) {
	return func(lt *v1alpha1.LoadTest) { lt.Spec.Runner.CPUsPerShard = ptr.To(n) }
}

func resourcesOf(requests, limits corev1.ResourceList) func(*v1alpha1.LoadTest) {
	return func(lt *v1alpha1.LoadTest) {
		lt.Spec.Runner.Resources = &corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
}

// queued has labels and annotations that runner pods inherit, and others.
func queued(lt *v1alpha1.LoadTest) {
	lt.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "load", "team": "core", "secret-team": "x", LabelLoadTest: "other"}
	lt.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": "zone", AnnotationGeneration: "7", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
}

func jobInput(lt *v1alpha1.LoadTest) JobInput {
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:dev"})
	return JobInput{LoadTest: lt, Runner: &cfg.Runner, PlanDigest: hash, Attempt: 1}
}

// running is a Job as the API server has it.
func running() *batchv1.Job {
	job, err := Job(jobInput(loadTest()))
	if err != nil {
		panic(err)
	}
	job.UID = "77e1c0de-0000-4000-8000-000000000003"
	return job
}

// hostile tries to take every field that is the operator's, and adds what is the user's.
const hostile = `
metadata:
  labels: {team: core, h2surge.io/loadtest: other}
  annotations: {sidecar.istio.io/inject: "false"}
  name: mine
spec:
  restartPolicy: Always
  automountServiceAccountToken: true
  activeDeadlineSeconds: 5
  nodeSelector: {pool: load}
  tolerations: [{key: dedicated, operator: Exists}]
  volumes: [{name: h2surge-tls, emptyDir: {}}, {name: scratch, emptyDir: {}}]
  containers:
    - name: runner
      image: mirror.example/h2surge:1
      command: [sh]
      args: [-c, "true"]
      env: [{name: POD_NAME, value: fake}, {name: GODEBUG, value: madvdontneed=1}]
      ports: [{name: control, containerPort: 1}]
      volumeMounts: [{name: scratch, mountPath: /scratch}, {name: scratch, mountPath: /etc/h2surge/plan}]
      livenessProbe: {exec: {command: ["false"]}}
      resources: {limits: {cpu: 500m, memory: 1Gi}, requests: {cpu: 10m, memory: 64Mi}}
    - {name: sidecar, image: "example.test/sidecar:1"}
`

// secured has two targets that take files from the same objects.
func secured(lt *v1alpha1.LoadTest) {
	lt.Spec.Targets = []v1alpha1.Target{
		{Name: "a", TLS: &v1alpha1.TLS{
			CAFrom:      &v1alpha1.ContentSource{SecretKeyRef: &v1alpha1.KeyReference{Name: "client", Key: "ca.crt"}},
			Certificate: &v1alpha1.ClientCertificate{SecretRef: &v1alpha1.SecretReference{Name: "client"}},
		}},
		{Name: "b", TLS: &v1alpha1.TLS{
			CAFrom:      &v1alpha1.ContentSource{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: "trust.bundle", Key: "root.pem"}},
			Certificate: &v1alpha1.ClientCertificate{SecretRef: &v1alpha1.SecretReference{Name: "client"}},
		}},
		{Name: "c", TLS: &v1alpha1.TLS{CAFrom: &v1alpha1.ContentSource{File: "/mine/ca.pem"}}},
	}
	schema := func(configMap, key string) (t v1alpha1.Template) {
		t.Expect = &v1alpha1.Expect{Checks: []v1alpha1.Check{{
			JSONSchema: &v1alpha1.JSONSchema{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: configMap, Key: key}},
		}}}
		return t
	}
	lt.Spec.Templates = []v1alpha1.Template{schema("schemas", "a.json"), schema("schemas", "b.json"), schema("more.schemas", "a.json")}
}

// listening has listeners with and without TLS.
func listening(lt *v1alpha1.LoadTest) {
	lt.Spec.Listeners = []v1alpha1.Listener{{Name: "plain"}, {Name: "secure", TLS: &v1alpha1.ListenerTLS{}}}
}

// hostileNames tries to take the place of the names of listeners.
const hostileNames = `
spec:
  subdomain: mine
  containers: [{name: runner, env: [{name: LISTENER_DOMAIN, value: mine}, {name: JOB_NAME, value: mine}, {name: POD_IP, value: mine}]}]
`

// hostileFiles tries to take the place of the files.
const hostileFiles = `
spec:
  volumes: [{name: h2surge-files, emptyDir: {}}, {name: h2surge-schemas-0, emptyDir: {}}, {name: mine, emptyDir: {}}]
  containers:
    - name: runner
      volumeMounts: [{name: mine, mountPath: /mine}, {name: mine, mountPath: /etc/h2surge/files/}, {name: mine, mountPath: /etc/h2surge/schemas/s}, {name: h2surge-files, mountPath: /other}]
`

func TestGolden(t *testing.T) {
	tests := map[string]func() (any, error){
		"job":            func() (any, error) { return Job(jobInput(loadTest())) },
		"job-guaranteed": func() (any, error) { return Job(jobInput(loadTest(cpus(2)))) },
		"job-template":   func() (any, error) { return Job(jobInput(loadTest(cpus(2), template(hostile)))) },
		"job-files":      func() (any, error) { return Job(jobInput(loadTest(secured, template(hostileFiles)))) },
		"job-queued":     func() (any, error) { return Job(jobInput(loadTest(queued))) },
		"plan":           func() (any, error) { return Plan(loadTest(), hash, []byte("gz"), "a warning"), nil },
		"job-scale":      func() (any, error) { return ApplyScale(running(), 5), nil },
		"budget":         func() (any, error) { return Budget(loadTest(), 2), nil },
		"job-listeners":  func() (any, error) { return Job(jobInput(loadTest(listening, template(hostileNames)))) },
		"service":        func() (any, error) { return Service(loadTest(listening)), nil },
		"report":         func() (any, error) { return Report(loadTest(), []byte("gz")), nil },
		"tls": func() (any, error) {
			return TLS(loadTest(), map[string][]byte{"ca.crt": []byte("a"), "tls.crt": []byte("b"), "tls.key": []byte("c")}), nil
		},
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			got := render(t, build)
			for range 20 { // no order of a map may show
				if again := render(t, build); again != got {
					t.Fatalf("two builds differ (-first +second):\n%s", cmp.Diff(got, again))
				}
			}
			golden.Compare(t, name+".yaml", got)
		})
	}
}

func render(t *testing.T, build func() (any, error)) string {
	t.Helper()
	obj, err := build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func runnerOf(t *testing.T, lt *v1alpha1.LoadTest) (*corev1.PodTemplateSpec, corev1.Container) {
	t.Helper()
	return runnerIn(t, jobInput(lt))
}

func runnerIn(t *testing.T, in JobInput) (*corev1.PodTemplateSpec, corev1.Container) {
	t.Helper()
	job, err := Job(in)
	if err != nil {
		t.Fatal(err)
	}
	pod := &job.Spec.Template
	for _, c := range pod.Spec.Containers {
		if c.Name == RunnerContainer {
			return pod, c
		}
	}
	t.Fatal("no container called runner")
	return nil, corev1.Container{}
}

// TestPodTemplateOfConfiguration: the template of the configuration is a default. A LoadTest's template wins, and neither can replace what the
// operator sets.
func TestPodTemplateOfConfiguration(t *testing.T) {
	in := jobInput(loadTest(template(`{"spec":{"nodeSelector":{"pool":"load"}}}`)))
	in.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(`{"spec":{"restartPolicy":"Always","nodeSelector":{"pool":"any","zone":"a"},"priorityClassName":"low"}}`)}
	job, err := Job(in)
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	if diff := cmp.Diff(map[string]string{"pool": "load", "zone": "a"}, pod.NodeSelector); diff != "" {
		t.Errorf("nodeSelector (-want +got):\n%s", diff)
	}
	if pod.PriorityClassName != "low" || pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("priorityClassName %q, restartPolicy %s", pod.PriorityClassName, pod.RestartPolicy)
	}
}

func TestOperatorWins(t *testing.T) {
	_, plain := runnerOf(t, loadTest())
	pod, c := runnerOf(t, loadTest(template(hostile)))
	if diff := cmp.Diff(append(plain.Command, plain.Args...), append(c.Command, c.Args...)); diff != "" {
		t.Errorf("command line (-plain +hostile):\n%s", diff)
	}
	if c.LivenessProbe != nil || pod.Spec.RestartPolicy != corev1.RestartPolicyNever || pod.Spec.ActiveDeadlineSeconds != nil {
		t.Errorf("a field of the operator's was taken: %v %v %v", c.LivenessProbe, pod.Spec.RestartPolicy, pod.Spec.ActiveDeadlineSeconds)
	}
	if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Error("a runner gets a token")
	}
	if pod.Labels[LabelLoadTest] != "pcf" || pod.Labels["team"] != "core" {
		t.Errorf("labels %v", pod.Labels)
	}
	if c.Image != "mirror.example/h2surge:1" || pod.Spec.NodeSelector["pool"] != "load" || len(pod.Spec.Containers) != 2 {
		t.Error("a field of the user's was lost")
	}
	if got := c.Resources.Limits.Cpu().String(); got != "500m" {
		t.Errorf("without cpusPerShard resources are the user's; CPU limit %s", got)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == tlsVolume && v.Secret == nil {
			t.Error("the volume of the certificates was replaced")
		}
	}
	paths := map[string]string{}
	for _, m := range c.VolumeMounts {
		if other, twice := paths[m.MountPath]; twice {
			t.Errorf("%s is mounted from %s and %s", m.MountPath, other, m.Name)
		}
		paths[m.MountPath] = m.Name
	}
}

func TestGuaranteed(t *testing.T) {
	tests := map[string]struct {
		template string
		memory   string
	}{
		"no template":         {`{}`, "1Gi"},
		"a memory limit":      {`{spec: {containers: [{name: runner, resources: {limits: {memory: 3Gi}}}]}}`, "3Gi"},
		"a memory request":    {`{spec: {containers: [{name: runner, resources: {requests: {memory: 3Gi}}}]}}`, "1Gi"},
		"a fraction of a CPU": {`{spec: {containers: [{name: runner, resources: {requests: {cpu: 300m}}}]}}`, "1Gi"},
		"no containers":       {`{spec: {containers: null}}`, "1Gi"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, c := runnerOf(t, loadTest(cpus(2), template(tt.template)))
			want := corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("2"),
				corev1.ResourceMemory: resource.MustParse(tt.memory),
			}
			for kind, got := range map[string]corev1.ResourceList{"requests": c.Resources.Requests, "limits": c.Resources.Limits} {
				if !got.Cpu().Equal(*want.Cpu()) || !got.Memory().Equal(*want.Memory()) {
					t.Errorf("%s %v, want %v", kind, got, want)
				}
			}
		})
	}
}

func TestResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		if cpu != "" {
			out[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			out[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return out
	}
	nic := corev1.ResourceList{"example.com/nic": resource.MustParse("1")}
	tests := map[string]struct {
		edits            []func(*v1alpha1.LoadTest)
		requests, limits corev1.ResourceList
	}{
		"the operator's":                     {nil, list("100m", "128Mi"), list("", "256Mi")},
		"the LoadTest's in their place":      {[]func(*v1alpha1.LoadTest){resourcesOf(list("1", ""), nil)}, list("1", ""), nil},
		"podTemplate over the LoadTest's":    {[]func(*v1alpha1.LoadTest){resourcesOf(list("1", "1Gi"), nil), template(`{spec: {containers: [{name: runner, resources: {requests: {cpu: 2}}}]}}`)}, list("2", "1Gi"), nil},
		"cpusPerShard with a memory request": {[]func(*v1alpha1.LoadTest){cpus(2), resourcesOf(list("", "3Gi"), nil)}, list("2", "3Gi"), list("2", "3Gi")},
		"cpusPerShard with a memory limit":   {[]func(*v1alpha1.LoadTest){cpus(2), resourcesOf(list("", "1Gi"), list("", "3Gi"))}, list("2", "3Gi"), list("2", "3Gi")},
		"cpusPerShard alone":                 {[]func(*v1alpha1.LoadTest){cpus(2)}, list("2", "1Gi"), list("2", "1Gi")},
		"cpusPerShard without memory":        {[]func(*v1alpha1.LoadTest){cpus(2), resourcesOf(nil, nil)}, list("2", "1Gi"), list("2", "1Gi")},
		"cpusPerShard with another resource": {[]func(*v1alpha1.LoadTest){cpus(1), resourcesOf(nil, nic)}, list("1", "512Mi"), corev1.ResourceList{
			"cpu": resource.MustParse("1"), "memory": resource.MustParse("512Mi"), "example.com/nic": resource.MustParse("1"),
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := jobInput(loadTest(tt.edits...))
			in.Runner.Resources.Limits = list("", "256Mi")
			_, c := runnerIn(t, in)
			equal := cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
			if diff := cmp.Diff(tt.requests, c.Resources.Requests, equal); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.limits, c.Resources.Limits, equal); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInheritedKeys(t *testing.T) {
	have := map[string]string{"team": "a", "cost.example.com/center": "7", "cost.example.com/project": "x", "other": "z"}
	tests := map[string]struct {
		names []string
		want  map[string]string
	}{
		"none":                          {nil, map[string]string{}},
		"exact":                         {[]string{"team", "absent"}, map[string]string{"team": "a"}},
		"a prefix":                      {[]string{"cost.example.com/"}, map[string]string{"cost.example.com/center": "7", "cost.example.com/project": "x"}},
		"no part of a name is a prefix": {[]string{"tea", "cost.example.com/cen"}, map[string]string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, inherited(have, tt.names)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamesFit(t *testing.T) {
	lt := loadTest()
	lt.Name = strings.Repeat("a", 50)
	if n := len(JobName(lt, 9_999_999) + "-255"); n > 63 {
		t.Errorf("a host name would have %d characters", n)
	}
}

func TestApplyOmitsWhatIsNotSet(t *testing.T) {
	job, err := Job(jobInput(loadTest()))
	if err != nil {
		t.Fatal(err)
	}
	ac, err := Apply(job)
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(ac)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"status:", "creationTimestamp", "null", "uid: \"\""} {
		if strings.Contains(string(out), key) {
			t.Errorf("the apply configuration has %q:\n%s", key, out)
		}
	}
}

// TestHasNames: only the URL of a listener with TLS on the pod's own address has a name.
func TestHasNames(t *testing.T) {
	for _, tt := range []struct {
		listeners []v1alpha1.Listener
		want      bool
	}{
		{nil, false},
		{[]v1alpha1.Listener{{}}, false},
		{[]v1alpha1.Listener{{TLS: &v1alpha1.ListenerTLS{}, Interface: "n2"}}, false},
		{[]v1alpha1.Listener{{}, {TLS: &v1alpha1.ListenerTLS{}}}, true},
	} {
		if got := HasNames(&v1alpha1.LoadTestSpec{Listeners: tt.listeners}); got != tt.want {
			t.Errorf("%+v: %t", tt.listeners, got)
		}
	}
}
