package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func ptr[T any](v T) *T { return &v }

// running is a test 70 s after its creation, 60 s after its start.
func running() *v1alpha1.LoadTest {
	return &v1alpha1.LoadTest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "core", Name: "pcf", UID: "1", CreationTimestamp: metav1.NewTime(at(-10))},
		Spec: v1alpha1.LoadTestSpec{Runner: v1alpha1.Runner{Shards: 2}, Rates: []v1alpha1.Rate{
			{Name: "warm", RequestsPerSecond: ptr(int64(1000)), Duration: &v1alpha1.Duration{Duration: 10 * time.Second}, WarmUp: true},
			{Name: "hold", RequestsPerSecond: ptr(int64(60000)), Duration: &v1alpha1.Duration{Duration: 2 * time.Minute}},
			{Name: "slow", RequestsPer: &v1alpha1.RequestsPer{Count: 1, Period: v1alpha1.Duration{Duration: time.Minute}}, Duration: &v1alpha1.Duration{Duration: time.Minute}},
		}},
		Status: v1alpha1.LoadTestStatus{
			Phase: v1alpha1.PhaseRunning, StartTime: ptr(metav1.NewTime(start)),
			Shards:  &v1alpha1.ShardCounts{Desired: 2, Ready: 2},
			Summary: &v1alpha1.Summary{Shards: "2/2", Rate: "60003", P50: "1.1ms", P99: "8.42ms", Errors: "0.02%"},
			Thresholds: []v1alpha1.ThresholdStatus{
				{Name: "fast", Figure: "p99 of ResponseTime", Limit: "<= 20ms", Observed: "8.42ms", Passed: true},
				{Name: "later", Figure: "ErrorRate in stage slow", Limit: "<= 1%", Observed: "none"},
				{Name: "clean", Figure: "ErrorRate of step app-session/create", Limit: "<= 0.01%", Observed: "0.02%"},
			},
		},
	}
}

func ended() *v1alpha1.LoadTest {
	lt := running()
	lt.Status.Phase, lt.Status.CompletionTime = v1alpha1.PhaseCompleted, ptr(metav1.NewTime(at(190)))
	lt.Status.Report = &v1alpha1.ReportStatus{ConfigMapRef: v1alpha1.ConfigMapReference{Name: "pcf-report"}}
	return lt
}

func with(objects ...client.Object) *Cluster {
	return New(builder(objects...).Build(), "core", false)
}

func builder(objects ...client.Object) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(Scheme()).WithRESTMapper(mapper()).WithObjects(objects...)
}

func TestControl(t *testing.T) {
	held := running()
	held.Spec.Suspend = true
	stopping := running()
	stopping.Spec.Stop = true
	fresh := running()
	fresh.Status = v1alpha1.LoadTestStatus{}
	for _, tc := range []struct {
		name          string
		lt            *v1alpha1.LoadTest
		do            func(*Cluster, context.Context, string) (string, error)
		says          string
		stop, suspend bool
	}{
		{"stop", running(), (*Cluster).Stop, "pcf is stopping; the report keeps everything that was measured", true, false},
		{"stop again", stopping, (*Cluster).Stop, "pcf is already stopping", true, false},
		{"stop what has ended", ended(), (*Cluster).Stop, "pcf has already ended: Completed", false, false},
		{"suspend", running(), (*Cluster).Suspend, "pcf is pausing; it still receives the responses in flight", false, true},
		{"suspend before the start", fresh, (*Cluster).Suspend, "pcf starts only after you resume it", false, true},
		{"suspend again", held, (*Cluster).Suspend, "pcf is already suspended", false, true},
		{"suspend what has ended", ended(), (*Cluster).Suspend, "pcf has already ended: Completed", false, false},
		{"resume", held, (*Cluster).Resume, "pcf continues", false, false},
		{"resume what is not suspended", running(), (*Cluster).Resume, "pcf is not suspended", false, false},
		{"resume what has ended", ended(), (*Cluster).Resume, "pcf has already ended: Completed", false, false},
	} {
		c := with(tc.lt.DeepCopy())
		says, err := tc.do(c, t.Context(), "pcf")
		if err != nil || says != tc.says {
			t.Errorf("%s: %q, %v; want %q", tc.name, says, err, tc.says)
		}
		lt, err := c.Get(t.Context(), "pcf")
		if err != nil {
			t.Fatal(err)
		}
		if lt.Spec.Stop != tc.stop || lt.Spec.Suspend != tc.suspend {
			t.Errorf("%s: stop %v, suspend %v", tc.name, lt.Spec.Stop, lt.Spec.Suspend)
		}
	}
	if _, err := with().Stop(t.Context(), "pcf"); err == nil || !strings.Contains(err.Error(), `"pcf" not found`) {
		t.Errorf("stop without a test: %v", err)
	}
}

func TestParseRate(t *testing.T) {
	for _, tc := range []struct {
		text string
		old  int64
		want int64 // 0: an error, unless the stage pauses: old is 0
	}{
		{"5000", 1000, 5000}, {"1", 7, 1}, {"100000000", 7, 100000000},
		{"+10%", 1000, 1100}, {"-10%", 1000, 900}, {"+2.5%", 1000, 1025}, {"-100%", 1000, 1}, {"-500%", 1000, 1},
		{"+1%", 3, 4}, {"-1%", 3, 2}, {"+0%", 3, 3}, {"-1%", 1, 1}, {"-10%", 0, 0}, {"+10%", 0, 1}, {"5", 0, 5}, {"+1000%", 99999999, 100000000},
		{"0", 1, 0}, {"-5", 1, 0}, {"100000001", 1, 0}, {"10%", 1, 0}, {"%", 1, 0}, {"+%", 1, 0}, {"", 1, 0}, {"+NaN%", 1, 0}, {"+Inf%", 1, 0}, {"1e3", 1, 0},
	} {
		r, err := ParseRate(tc.text)
		switch {
		case tc.want == 0 && tc.old != 0 && err == nil:
			t.Errorf("%q: no error", tc.text)
		case tc.want == 0 && tc.old != 0:
		case err != nil:
			t.Errorf("%q: %v", tc.text, err)
		case r.of(tc.old) != tc.want:
			t.Errorf("%q of %d: %d, want %d", tc.text, tc.old, r.of(tc.old), tc.want)
		}
	}
}

func TestChangeRate(t *testing.T) {
	fresh := running()
	fresh.Status = v1alpha1.LoadTestStatus{}
	single := fresh.DeepCopy()
	single.Spec.Rates = single.Spec.Rates[:2]
	ramp := running()
	ramp.Spec.Rates[1].RampFrom = ptr(int64(0))
	fast := running()
	fast.Spec.Rates[1] = v1alpha1.Rate{Name: "hold", ClosedLoop: &v1alpha1.ClosedLoop{}}
	loop := running()
	loop.Spec.Rates[1] = v1alpha1.Rate{Name: "hold", ClosedLoop: &v1alpha1.ClosedLoop{Concurrency: ptr(int64(64))}, Duration: fresh.Spec.Rates[1].Duration}
	bounded := loop.DeepCopy()
	bounded.Spec.Rates[1].Requests = ptr(int64(1000))
	for _, tc := range []struct {
		name, stage, rate string
		lt                *v1alpha1.LoadTest
		want, wrong       string
	}{
		{"current stage", "", "+10%", running(), "stage hold of pcf: 60000/s -> 66000/s", ""},
		{"named", "warm", "2000", running(), "stage warm of pcf: 1000/s -> 2000/s", ""},
		{"the only one measured", "", "-50%", single, "stage hold of pcf: 60000/s -> 30000/s", ""},
		{"the same", "hold", "60000", running(), "stage hold of pcf already has 60000/s", ""},
		{"ramp", "", "+10%", ramp, "stage hold of pcf: 0 to 60000/s -> 0 to 66000/s", ""},
		{"end of a ramp", "", "50000", ramp, "stage hold of pcf: 0 to 60000/s -> 0 to 50000/s", ""},
		{"no name", "", "1", fresh, "", "STAGE: the argument is missing; allowed: warm, hold, slow"},
		{"another name", "x", "1", running(), "", `"x" is not a stage; allowed: warm, hold, slow`},
		{"requestsPer", "slow", "1", running(), "", "stage slow has requestsPer (1 in 1m0s); this command changes only requestsPerSecond, chainsPerSecond and concurrency"},
		{"closed loop", "hold", "1", fast, "", "stage hold is a closed loop without concurrency; it has no rate"},
		{"concurrency", "hold", "128", loop, "stage hold of pcf: 64 in flight -> 128 in flight", ""},
		{"concurrency in percent", "", "-10%", loop, "stage hold of pcf: 64 in flight -> 58 in flight", ""},
		{"concurrency of a stage that ends by requests", "hold", "128", bounded, "", "stage hold is a closed loop that ends by requests; its concurrency cannot change"},
		{"ended", "hold", "1", ended(), "", "pcf has already ended"},
	} {
		r, err := ParseRate(tc.rate)
		if err != nil {
			t.Fatal(err)
		}
		c := with(tc.lt.DeepCopy())
		got, err := c.ChangeRate(t.Context(), "pcf", tc.stage, r, at(60))
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: %v, want %s", tc.name, err, tc.wrong)
			}
			continue
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.name, got, err, tc.want)
		}
	}
}

// A stage that moved, or a rate that another user has changed, fails instead of changing another.
func TestChangeRateTests(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.LoadTest){
		"stage": func(lt *v1alpha1.LoadTest) { lt.Spec.Rates[1].Name = "other" },
		"rate":  func(lt *v1alpha1.LoadTest) { lt.Spec.Rates[1].RequestsPerSecond = ptr(int64(7)) },
	} {
		raced := builder(running()).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				lt := &v1alpha1.LoadTest{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), lt); err != nil {
					return err
				}
				edit(lt)
				if err := c.Update(ctx, lt); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
		}).Build()
		if says, err := New(raced, "core", false).ChangeRate(t.Context(), "pcf", "hold", RateChange{rate: 5}, at(60)); err == nil {
			t.Errorf("%s: %s", name, says)
		}
	}
}

const manifest = `# first
apiVersion: v1
kind: ConfigMap
metadata: {name: table}
data: {a.csv: "x"}
---
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: pcf}
spec:
  targets: [{name: t, url: "http://t:80"}]
  templates: [{name: get, path: /}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: hold, duration: 1s, requestsPerSecond: 10}]
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: core}
stringData: {key: s}
`

func TestSubmit(t *testing.T) {
	m := placed(t, with(), manifest)
	c := with()
	lt, err := c.Submit(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if lt.Namespace != "core" || lt.Name != "pcf" || len(lt.Spec.Rates) != 1 {
		t.Errorf("created: %+v", lt.ObjectMeta)
	}
	cm, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	if err := c.client.Get(t.Context(), c.key("table"), cm); err != nil || cm.Data["a.csv"] != "x" {
		t.Errorf("ConfigMap: %v, %v", cm.Data, err)
	}
	if err := c.client.Get(t.Context(), c.key("keys"), secret); err != nil {
		t.Errorf("Secret: %v", err)
	}

	m.ConfigMaps[0].Data["a.csv"] = "y"
	if _, err := c.Submit(t.Context(), m); err == nil || !strings.Contains(err.Error(), "LoadTest core/pcf already exists") || !strings.Contains(err.Error(), "--name") {
		t.Errorf("the second time: %v", err)
	}
	if err := c.client.Get(t.Context(), c.key("table"), cm); err != nil || cm.Data["a.csv"] != "x" {
		t.Errorf("ConfigMap was touched although the test exists: %v, %v", cm.Data, err)
	}
	m.LoadTest.Name = "pcf-2"
	if _, err := c.Submit(t.Context(), m); err != nil {
		t.Errorf("under another name: %v", err)
	}
}

func placed(t *testing.T, c *Cluster, source string) *compile.Manifest {
	t.Helper()
	m, err := compile.Load(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Place(m, []byte(source)); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPlace(t *testing.T) {
	m := placed(t, with(), manifest)
	if got := []string{m.LoadTest.Namespace, m.ConfigMaps[0].Namespace, m.Secrets[0].Namespace}; strings.Join(got, " ") != "core core core" {
		t.Errorf("%v", got)
	}
	named := strings.Replace(manifest, "{name: pcf}", "{name: pcf, namespace: default}", 1)
	if m := placed(t, with(), named); m.LoadTest.Namespace != "default" {
		t.Errorf("a namespace that is written is %q", m.LoadTest.Namespace)
	}
	m, err := compile.Load(strings.NewReader(named))
	if err != nil {
		t.Fatal(err)
	}
	err = New(nil, "core", true).Place(m, []byte(named))
	if want := `-n: LoadTest pcf has namespace "default" in the manifest, not "core"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestPlaceList: objects in a List have the namespace that is written at each of them, or else that of the cluster.
func TestPlaceList(t *testing.T) {
	const list = `apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}, data: {k: v}}
  - {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: v}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {k: v}
---
`
	m := placed(t, with(), list+manifest)
	var got []string
	for i := range m.ConfigMaps {
		got = append(got, m.ConfigMaps[i].Namespace+"/"+m.ConfigMaps[i].Name)
	}
	for i := range m.Secrets {
		got = append(got, m.Secrets[i].Namespace+"/"+m.Secrets[i].Name)
	}
	if want := "x/a core/b core/table core/s core/keys"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	m, err := compile.Load(strings.NewReader(list + manifest))
	if err != nil {
		t.Fatal(err)
	}
	err = New(nil, "core", true).Place(m, []byte(list+manifest))
	if want := `-n: ConfigMap a has namespace "x" in the manifest, not "core"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// server is a Cluster as Connect makes it, of an API server with fixed answers.
func server(t *testing.T, answer http.HandlerFunc, warnings io.Writer) *Cluster {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	file := t.TempDir() + "/config"
	writeFile(t, file, `{"apiVersion": "v1", "kind": "Config", "current-context": "a", "users": [{"name": "u", "user": {}}],
		"clusters": [{"name": "c", "cluster": {"server": "`+s.URL+`"}}],
		"contexts": [{"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "core"}}]}`)
	c, err := Connect(Options{Kubeconfig: file, Warnings: warnings})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNotInstalled(t *testing.T) {
	c := server(t, http.NotFound, io.Discard)
	_, err := c.Get(t.Context(), "pcf")
	if err == nil || !strings.Contains(err.Error(), "has no kind LoadTest") {
		t.Errorf("%v", err)
	}
	m := placed(t, c, manifest)
	if _, err := c.Submit(t.Context(), m); err == nil || !strings.Contains(err.Error(), "has no kind LoadTest") {
		t.Errorf("submit: %v", err)
	}
}

// What goes over the wire: no discovery, the paths and media types of the API, and its warnings.
func TestRequests(t *testing.T) {
	var requests []string
	var warnings strings.Builder
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body)))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", `299 - "odd but possible"`)
		json.NewEncoder(w).Encode(running())
	}, &warnings)
	if _, err := c.Stop(t.Context(), "pcf"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ChangeRate(t.Context(), "pcf", "hold", RateChange{rate: 5}, at(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Scale(t.Context(), "pcf", 3); err != nil {
		t.Fatal(err)
	}
	const path = "/apis/h2surge.io/v1alpha1/namespaces/core/loadtests/pcf"
	want := []string{
		"GET " + path,
		"PATCH " + path + ` application/merge-patch+json {"spec":{"stop":true}}`,
		"GET " + path,
		"PATCH " + path + ` application/json-patch+json [{"op":"test","path":"/spec/rates/1/name","value":"hold"},` +
			`{"op":"test","path":"/spec/rates/1/requestsPerSecond","value":60000},{"op":"replace","path":"/spec/rates/1/requestsPerSecond","value":5}]`,
		"GET " + path,
		"PATCH " + path + ` application/merge-patch+json {"spec":{"runner":{"shards":3}}}`,
	}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := warnings.String(); got != "Warning: odd but possible\n" {
		t.Errorf("warnings: %q", got)
	}
}

func TestReport(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte("{}"))
	w.Close()
	lt := ended()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "core", Name: "pcf-report"}, BinaryData: map[string][]byte{"report.json.gz": z.Bytes()}}
	if got, err := with(lt, cm).Report(t.Context(), lt); err != nil || !bytes.Equal(got, z.Bytes()) {
		t.Errorf("%q, %v", got, err)
	}
	cm.BinaryData = nil
	bad := running()
	bad.Status = v1alpha1.LoadTestStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}}
	bare := ended()
	bare.Status.Report = nil
	fresh := running()
	fresh.Status = v1alpha1.LoadTestStatus{}
	for _, tc := range []struct {
		lt   *v1alpha1.LoadTest
		c    *Cluster
		want string
	}{
		{lt, with(cm), "the report of pcf: ConfigMap pcf-report has no key report.json.gz"},
		{lt, with(), `the report of pcf: configmaps "pcf-report" not found`},
		{running(), with(), "pcf has no report: it has not ended (Running)"},
		{bad, with(), "pcf has no report: its spec is invalid"},
		{bare, with(), "pcf has no report: nothing was measured"},
		{fresh, with(), "pcf has no report: the operator has not read it yet"},
	} {
		if _, err := tc.c.Report(t.Context(), tc.lt); err == nil || err.Error() != tc.want {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
}

func TestFollow(t *testing.T) {
	hiccup := errors.New("connection refused")
	other := running()
	other.UID = "2"
	for _, tc := range []struct {
		name  string
		known *v1alpha1.LoadTest
		get   []any // what each look finds
		want  string
		err   string
	}{
		{"to the end", nil, []any{running(), running(), ended()}, "Running Running Completed", ""},
		{"a hiccup", nil, []any{running(), hiccup, ended()}, "Running Running! Completed", ""},
		{"a hiccup of a known test", running(), []any{hiccup, ended()}, "Running! Completed", ""},
		{"never seen", nil, []any{hiccup}, "", "connection refused"},
		{"deleted", nil, []any{running(), apierrors.NewNotFound(schema.GroupResource{Resource: "loadtests"}, "pcf")}, "Running", "pcf was deleted"},
		{"created again", nil, []any{running(), other}, "Running", "pcf was deleted and created again"},
		{"forbidden", nil, []any{running(), apierrors.NewForbidden(schema.GroupResource{}, "pcf", nil)}, "Running", "forbidden"},
	} {
		c := New(builder().WithInterceptorFuncs(interceptor.Funcs{
			Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
				next := tc.get[0]
				tc.get = tc.get[1:]
				if err, is := next.(error); is {
					return err
				}
				next.(*v1alpha1.LoadTest).DeepCopyInto(into.(*v1alpha1.LoadTest))
				return nil
			},
		}).Build(), "core", false)
		var seen []string
		err := c.Follow(t.Context(), "pcf", tc.known, func(l Look) bool {
			word := string(l.Test.Status.Phase)
			if l.Trouble != nil {
				word += "!"
			}
			seen = append(seen, word)
			return !Finished(l.Test)
		}, func() bool { return true })
		if got := strings.Join(seen, " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
	}
}

func TestFollowEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := with(running()).Follow(ctx, "pcf", nil, func(Look) bool { return true }, func() bool { cancel(); return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := with(running()).Follow(t.Context(), "pcf", nil, func(Look) bool { return true }, func() bool { return false }); err != nil {
		t.Errorf("left: %v", err)
	}
}

func TestConnect(t *testing.T) {
	const config = `apiVersion: v1
kind: Config
current-context: a
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts:
- {name: a, context: {cluster: c, user: u, namespace: of-a}}
- {name: b, context: {cluster: c, user: u}}
users: [{name: u, user: {}}]
`
	file := t.TempDir() + "/config"
	writeFile(t, file, config)
	for _, tc := range []struct {
		options Options
		want    string
		wrong   string
	}{
		{Options{Kubeconfig: file}, "of-a", ""},
		{Options{Kubeconfig: file, Context: "b"}, "default", ""},
		{Options{Kubeconfig: file, Namespace: "x"}, "x", ""},
		{Options{Kubeconfig: file, Context: "z"}, "", `kubeconfig: context "z" does not exist`},
		{Options{Kubeconfig: file + "x"}, "", "no such file"},
	} {
		c, err := Connect(tc.options)
		switch {
		case tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)):
			t.Errorf("%+v: %v, want %s", tc.options, err, tc.wrong)
		case tc.wrong != "":
		case err != nil:
			t.Errorf("%+v: %v", tc.options, err)
		case c.Namespace != tc.want:
			t.Errorf("%+v: namespace %s, want %s", tc.options, c.Namespace, tc.want)
		}
	}
	t.Setenv("KUBECONFIG", file+"y")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := Connect(Options{}); err == nil || !strings.Contains(err.Error(), file+"y: no such file") {
		t.Errorf("$KUBECONFIG without a file: %v", err)
	}
}
