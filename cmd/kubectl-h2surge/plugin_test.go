package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/cluster"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// fakeCluster is an API server, a terminal and a user.
type fakeCluster struct {
	t       *testing.T
	objects []client.Object
	// steps change the test one after another, each before it is read once more after its creation.
	steps []func(*v1alpha1.LoadTest)
	// patched is called after a patch.
	patched func(*v1alpha1.LoadTest)
	down    bool // it cannot be reached
	// outages are how many of the next requests for objects of a type fail with outage. If it is nil, they get no answer.
	outages map[string]int
	outage  error

	size   cluster.Size // zero: there is no terminal
	ticks  chan time.Time
	wishes chan os.Signal
	keys   chan byte
	client client.WithWatch
	asked  cluster.Options
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// always is a ticker that does not wait.
func always() chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

func (f *fakeCluster) connect(o cluster.Options) (*cluster.Cluster, error) {
	f.asked = o
	if f.outages == nil {
		f.outages = map[string]int{}
	}
	f.client = fake.NewClientBuilder().WithScheme(cluster.Scheme()).WithObjects(f.objects...).
		WithInterceptorFuncs(interceptor.Funcs{Get: f.get, Patch: f.patch}).Build()
	namespace := "default"
	if o.Namespace != "" {
		namespace = o.Namespace
	}
	return cluster.New(f.client, namespace, o.Namespace != ""), nil
}

func (f *fakeCluster) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := fmt.Sprintf("%T", into)
	if f.outages[kind]--; f.down || f.outages[kind] >= 0 {
		return cmp.Or[error](f.outage, &url.Error{Op: "Get", URL: "http://127.0.0.1:1", Err: errors.New("connection refused")})
	}
	err := c.Get(ctx, key, into)
	if lt, is := into.(*v1alpha1.LoadTest); is && err == nil && len(f.steps) > 0 {
		f.steps[0](lt)
		f.steps = f.steps[1:]
		if lt.DeletionTimestamp != nil {
			return errors.Join(c.Delete(ctx, lt), c.Get(ctx, key, into))
		}
		f.save(lt)
	}
	return err
}

func (f *fakeCluster) patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	err := c.Patch(ctx, o, p, opts...)
	if lt, is := o.(*v1alpha1.LoadTest); is && err == nil && f.patched != nil {
		f.patched(lt)
		f.save(lt)
	}
	return err
}

func (f *fakeCluster) save(lt *v1alpha1.LoadTest) {
	if err := f.client.Update(f.t.Context(), lt.DeepCopy()); err != nil {
		f.t.Error(err)
	}
}

func (f *fakeCluster) kube() *kube {
	return &kube{
		connect:    f.connect,
		interrupts: func(bool, func()) (<-chan os.Signal, func()) { return f.wishes, func() {} },
		keyboard:   func(io.Reader, io.Writer) (<-chan byte, func()) { return f.keys, func() {} },
		ticks:      func(time.Duration) (<-chan time.Time, func()) { return f.ticks, func() {} },
		now:        func() time.Time { return noon.Add(time.Minute) },
		size:       func(io.Writer) (cluster.Size, bool) { return f.size, f.size.Width > 0 },
	}
}

// kubectl runs a command of the plugin.
func (f *fakeCluster) kubectl(in string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = command.Execute(f.t.Context(), newRootCommand(f.kube()), args, strings.NewReader(in), &out, &errs)
	return code, out.String(), errs.String()
}

const kubeManifest = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: pcf}
spec:
  targets: [{name: t, url: "http://t:80"}]
  templates: [{name: get, path: /}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: hold, duration: 2m, requestsPerSecond: 1000}]
`

func begins(lt *v1alpha1.LoadTest) {
	lt.Status.Phase, lt.Status.StartTime = v1alpha1.PhaseRunning, &metav1.Time{Time: noon}
	lt.Status.Summary = &v1alpha1.Summary{Shards: "1/1", Rate: "1000", P50: "1ms", P99: "2ms", Errors: "0%"}
	lt.Status.Results = &v1alpha1.Results{Requests: v1alpha1.RequestCounts{Sent: 60000, Done: 60000, Succeeded: 60000}, ErrorRate: 0}
}

func ends(lt *v1alpha1.LoadTest) {
	begins(lt)
	lt.Status.Phase, lt.Status.CompletionTime = v1alpha1.PhaseCompleted, &metav1.Time{Time: noon.Add(time.Minute)}
	lt.Status.Report = &v1alpha1.ReportStatus{ConfigMapRef: v1alpha1.ConfigMapReference{Name: "pcf-report"}}
}

func loadTest(changes ...func(*v1alpha1.LoadTest)) *v1alpha1.LoadTest {
	rate := int64(1000)
	lt := &v1alpha1.LoadTest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pcf", CreationTimestamp: metav1.NewTime(noon)},
		Spec:       v1alpha1.LoadTestSpec{Rates: []v1alpha1.Rate{{Name: "hold", RequestsPerSecond: &rate, Duration: &v1alpha1.Duration{Duration: 2 * time.Minute}}}},
	}
	for _, change := range changes {
		change(lt)
	}
	return lt
}

func stored(t *testing.T, v rv.Verdict) *corev1.ConfigMap {
	t.Helper()
	return storedReport(t, "pcf", rv.Report{Verdict: v})
}

// storedReport is the ConfigMap with the report of a test.
func storedReport(t *testing.T, name string, r rv.Report) *corev1.ConfigMap {
	t.Helper()
	r.APIVersion, r.Kind, r.Name = rv.APIVersion, rv.ReportKind, "default/"+name
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(raw)
	w.Close()
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-report"},
		BinaryData: map[string][]byte{"report.json.gz": z.Bytes()},
	}
}

func passedVerdict() rv.Verdict {
	return rv.Verdict{Outcome: rv.OutcomePassed, Reason: verdict.ReasonPassed, Message: "all is well"}
}

func TestKubeRunVerdicts(t *testing.T) {
	one := []rv.ThresholdResult{{Name: "clean", Metric: rv.MetricErrorRate}}
	for _, tc := range []struct {
		name    string
		verdict rv.Verdict
		want    int
	}{
		{"passed", passedVerdict(), 0},
		{"failed", rv.Verdict{Outcome: rv.OutcomeFailed, Reason: verdict.ReasonThresholdsFailed, Thresholds: one}, 2},
		{"inconclusive", rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: verdict.ReasonGeneratorBound, Thresholds: one}, 3},
		{"stopped", rv.Verdict{Outcome: rv.OutcomeStopped, Reason: verdict.ReasonStopped}, 4},
		{"a runner was lost", rv.Verdict{Outcome: rv.OutcomeError, Reason: verdict.ReasonRunnerLost}, 5},
	} {
		f := &fakeCluster{t: t, ticks: always(), objects: []client.Object{stored(t, tc.verdict)}, steps: []func(*v1alpha1.LoadTest){begins, ends}}
		code, out, errs := f.kubectl(kubeManifest, "run", "-f", "-", "--follow")
		if code != tc.want || !strings.Contains(out, "Verdict: "+string(tc.verdict.Outcome)) {
			t.Errorf("%s: exit code %d, want %d\n%s%s", tc.name, code, tc.want, out, errs)
		}
		for _, want := range []string{"created LoadTest default/pcf\n", " 1m0s   1000 of   1000/s  p50 1ms    p99 2ms    errors 0%     hold\n", " 1m0s completed\n"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: no %q in\n%s", tc.name, want, errs)
			}
		}
	}
}

func TestKubeRun(t *testing.T) {
	unready := func(lt *v1alpha1.LoadTest) {
		lt.Status.Phase = v1alpha1.PhaseInvalid
		lt.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionPlanReady, Status: metav1.ConditionFalse, Message: "spec.a: is wrong\nspec.b: too"},
			{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue},
		}
	}
	nothing := func(lt *v1alpha1.LoadTest) {
		ends(lt)
		lt.Status.Report, lt.Status.Verdict = nil, &v1alpha1.Verdict{Outcome: string(rv.OutcomeStopped), Reason: "Stopped", Message: "nothing was sent"}
	}
	deleted := func(lt *v1alpha1.LoadTest) { lt.DeletionTimestamp = &metav1.Time{Time: noon} }
	replaced := func(lt *v1alpha1.LoadTest) { lt.UID = "another" }
	lost := func(lt *v1alpha1.LoadTest) {
		ends(lt)
		lt.Status.Report.ConfigMapRef.Name = "deleted"
	}
	report := filepath.Join(t.TempDir(), "r.html")
	for _, tc := range []struct {
		name  string
		args  []string
		in    string
		steps []func(*v1alpha1.LoadTest)
		there bool // a test of that name
		code  int
		out   string
		errs  []string
	}{
		{"created only", []string{"run", "-f", "-"}, kubeManifest, nil, false, 0, "", []string{"created LoadTest", "to watch it: kubectl h2surge watch pcf -n default"}},
		{"another name and namespace", []string{"run", "-f", "-", "--name", "two", "-n", "core"}, kubeManifest, nil, true, 0, "",
			[]string{"created LoadTest core/two", "kubectl h2surge watch two -n core"}},
		{"wait", []string{"run", "-f", "-", "--wait", "-o", "json", "--output-file", report}, kubeManifest, []func(*v1alpha1.LoadTest){begins, ends}, false, 0, `"kind"`, []string{"created LoadTest"}},
		{"a file that cannot be written", []string{"run", "-f", "-", "--wait", "-o", "json", "--output-file", "/dev/full"}, kubeManifest, []func(*v1alpha1.LoadTest){begins, ends}, false, 5, `"kind"`, []string{"write /dev/full: no space left"}},
		{"invalid", []string{"run", "-f", "-", "--wait"}, kubeManifest, []func(*v1alpha1.LoadTest){unready}, false, 1, "", []string{"the spec is invalid", "\nspec.a: is wrong\nspec.b: too\n"}},
		{"without a report", []string{"run", "-f", "-", "--wait"}, kubeManifest, []func(*v1alpha1.LoadTest){nothing}, false, 4, "", []string{"Stopped (Stopped): nothing was sent"}},
		{"deleted", []string{"run", "-f", "-", "--wait"}, kubeManifest, []func(*v1alpha1.LoadTest){begins, deleted}, false, 5, "", []string{"pcf was deleted\n"}},
		{"replaced", []string{"run", "-f", "-", "--wait"}, kubeManifest, []func(*v1alpha1.LoadTest){begins, replaced}, false, 5, "", []string{"pcf was deleted and created again\n"}},
		{"its report is deleted", []string{"run", "-f", "-", "--wait"}, kubeManifest, []func(*v1alpha1.LoadTest){lost}, false, 5, "", []string{`the report of pcf: configmaps "deleted" not found`}},
		{"a short TTL", []string{"run", "-f", "-", "--wait"}, kubeManifest + "  ttlSecondsByOutcome: {passed: 0}\n", []func(*v1alpha1.LoadTest){ends}, false, 0, "Verdict: Passed",
			[]string{"warning: spec.ttlSecondsByOutcome: the operator can delete the test before h2surge has its report; use at least 5 seconds\n"}},
		{"mistakes", []string{"run", "-f", "-"}, strings.Replace(kubeManifest, "target: t,", "target: x,", 1), nil, false, 1, "", []string{"stdin:7: spec.chains[0].target"}},
		{"it exists", []string{"run", "-f", "-"}, kubeManifest, nil, true, 1, "", []string{"LoadTest default/pcf already exists", "--name"}},
		{"too late", []string{"run", "-f", "-", "--wait", "--timeout", "1ns"}, kubeManifest, nil, false, 5, "", []string{"pcf has not ended after 1ns and continues; to stop it: kubectl h2surge stop pcf -n default"}},
		{"no file", []string{"run"}, "", nil, false, 1, "", []string{"-f FILE"}},
		{"file is not there", []string{"run", "-f", "/does/not/exist"}, "", nil, false, 1, "", []string{"/does/not/exist: no such file"}},
		{"both", []string{"run", "-f", "-", "--wait", "--follow"}, "", nil, false, 1, "", []string{"not allowed with --follow"}},
		{"report of nothing", []string{"run", "-f", "-", "--output-file", "x"}, "", nil, false, 1, "", []string{"allowed only with --follow or --wait"}},
		{"bad name", []string{"run", "-f", "-", "--name", "A"}, "", nil, false, 1, "", []string{`--name: "A" is not a valid name`}},
		{"bad output", []string{"run", "-f", "-", "-o", "x"}, "", nil, false, 1, "", []string{"-o:"}},
		{"negative", []string{"run", "-f", "-", "--wait", "--timeout", "-1s"}, "", nil, false, 1, "", []string{"--timeout"}},
	} {
		f := &fakeCluster{t: t, ticks: always(), objects: []client.Object{stored(t, passedVerdict())}, steps: tc.steps}
		if tc.there {
			f.objects = append(f.objects, loadTest())
		}
		code, out, errs := f.kubectl(tc.in, tc.args...)
		if code != tc.code || !strings.Contains(out, tc.out) || tc.out == "" && out != "" {
			t.Errorf("%s: exit code %d, want %d; output\n%s\n%s", tc.name, code, tc.code, out, errs)
		}
		for _, want := range tc.errs {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: no %q in %q", tc.name, want, errs)
			}
		}
	}
	if page, err := os.ReadFile(report); err != nil || !bytes.Contains(page, []byte("<html")) {
		t.Errorf("the saved page: %v, %d bytes", err, len(page))
	}
}

// TestKubeRunOutages: a request without an answer is sent again, until the test has ended and its report is here.
func TestKubeRunOutages(t *testing.T) {
	wishes := make(chan os.Signal, 1)
	wishes <- os.Interrupt
	whole := stored(t, passedVerdict())
	empty := whole.DeepCopyObject().(*corev1.ConfigMap)
	empty.BinaryData = nil
	broken := whole.DeepCopyObject().(*corev1.ConfigMap)
	broken.BinaryData[v1alpha1.KeyReport] = []byte("no report")
	for _, tc := range []struct {
		args    string
		outages map[string]int
		outage  error
		stored  client.Object
		wishes  chan os.Signal
		code    int
		want    string
	}{
		{"--wait", map[string]int{"*v1alpha1.LoadTest": 1}, nil, whole, nil, 0, "Verdict: Passed"},
		{"--follow", map[string]int{"*v1alpha1.LoadTest": 1, "*v1.ConfigMap": 2}, nil, whole, nil, 0, "no answer from the API server: "},
		{"--wait", map[string]int{"*v1.ConfigMap": 1}, nil, whole, nil, 0, "Verdict: Passed"},
		{"--wait", map[string]int{"*v1alpha1.LoadTest": 1, "*v1.ConfigMap": 1}, apierrors.NewTooManyRequests("busy", 1), whole, nil, 0, "Verdict: Passed"},
		{"--wait", map[string]int{"*v1alpha1.LoadTest": 1, "*v1.ConfigMap": 1}, io.ErrUnexpectedEOF, whole, nil, 0, "Verdict: Passed"},
		{"--wait", map[string]int{"*v1.ConfigMap": 9}, apierrors.NewForbidden(corev1.Resource("configmaps"), "r", nil), whole, nil, 5, "forbidden"},
		{"--wait", nil, nil, empty, nil, 5, "has no key " + v1alpha1.KeyReport},
		{"--wait", nil, nil, broken, nil, 5, "the report of pcf-"},
		{"--wait --timeout 1ms", map[string]int{"*v1.ConfigMap": math.MaxInt}, nil, whole, nil, 5, "1ms"},
		{"--wait", map[string]int{"*v1.ConfigMap": math.MaxInt}, nil, whole, wishes, 4, "has ended; to get its report: kubectl h2surge report pcf-"},
	} {
		f := &fakeCluster{t: t, ticks: always(), wishes: tc.wishes, outages: tc.outages, outage: tc.outage, objects: []client.Object{tc.stored}, steps: []func(*v1alpha1.LoadTest){ends}}
		code, out, errs := f.kubectl(kubeManifest, strings.Fields("run -f - --generate-name "+tc.args)...)
		if code != tc.code || !strings.Contains(out+errs, tc.want) {
			t.Errorf("%s, %v: exit code %d, want %d and %q\n%s%s", tc.args, tc.outages, code, tc.code, tc.want, out, errs)
		}
	}
}

func TestKubeRunInterrupted(t *testing.T) {
	wishes := make(chan os.Signal, 1)
	wishes <- os.Interrupt
	f := &fakeCluster{t: t, wishes: wishes, size: cluster.Size{Width: 80, Height: 24}, steps: []func(*v1alpha1.LoadTest){begins}}
	code, _, errs := f.kubectl(kubeManifest, "run", "-f", "-")
	if want := "pcf continues; to stop it: kubectl h2surge stop pcf -n default\n"; code != 4 || !strings.HasSuffix(errs, want) {
		t.Errorf("exit code %d\n%s", code, errs)
	}

	wishes <- os.Interrupt
	ticks := make(chan time.Time, 1)
	f = &fakeCluster{
		t: t, wishes: wishes, ticks: ticks, steps: []func(*v1alpha1.LoadTest){begins},
		objects: []client.Object{stored(t, rv.Verdict{Outcome: rv.OutcomeStopped, Reason: verdict.ReasonStopped})},
		patched: func(lt *v1alpha1.LoadTest) {
			if lt.Spec.Stop {
				ends(lt)
				ticks <- noon
			}
		},
	}
	code, out, errs := f.kubectl(kubeManifest, "run", "-f", "-", "--follow", "--stop-on-interrupt")
	if code != 4 || !strings.Contains(out, "Verdict: Stopped") || !strings.Contains(errs, "pcf is stopping") {
		t.Errorf("--stop-on-interrupt: exit code %d\n%s%s", code, out, errs)
	}

	two := make(chan os.Signal, 2)
	two <- os.Interrupt
	two <- os.Interrupt
	f = &fakeCluster{t: t, wishes: two, steps: []func(*v1alpha1.LoadTest){begins}}
	code, _, errs = f.kubectl(kubeManifest, "run", "-f", "-", "--follow", "--stop-on-interrupt")
	if want := "pcf is stopping; to get its report: kubectl h2surge report pcf -n default\n"; code != 4 || !strings.HasSuffix(errs, want) {
		t.Errorf("twice: exit code %d\n%s", code, errs)
	}
}

// unread is a pipe whose reader has ended, such as head.
type unread struct{}

func (unread) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestKubeUnread: following ends like an interrupt if nothing reads its lines.
func TestKubeUnread(t *testing.T) {
	runs := func(lt *v1alpha1.LoadTest) {
		if begins(lt); lt.Spec.Stop {
			ends(lt)
		}
	}
	const most = 100
	noReport := map[string]int{"*v1.ConfigMap": most}
	for _, tc := range []struct {
		args       string
		objects    []client.Object
		step       func(*v1alpha1.LoadTest)
		outages    map[string]int
		code, seen int // seen is the number of looks
	}{
		{"watch pcf", []client.Object{loadTest()}, runs, nil, 141, 1},
		{"run -f - --follow", nil, runs, nil, 4, 1},
		{"run -f - --follow", []client.Object{stored(t, passedVerdict())}, ends, noReport, 4, 1},
		{"run -f - --follow --stop-on-interrupt", []client.Object{stored(t, rv.Verdict{Outcome: rv.OutcomeStopped})}, runs, nil, 141, 3},
	} {
		f := &fakeCluster{t: t, ticks: always(), objects: tc.objects, outages: tc.outages, steps: append(slices.Repeat([]func(*v1alpha1.LoadTest){tc.step}, most), ends)}
		code := command.Execute(t.Context(), newRootCommand(f.kube()), strings.Fields(tc.args), strings.NewReader(kubeManifest), unread{}, unread{})
		if seen := most + 1 - len(f.steps); code != tc.code || seen != tc.seen {
			t.Errorf("%s: exit code %d after %d looks, want %d after %d", tc.args, code, seen, tc.code, tc.seen)
		}
	}
}

func TestKubeCommands(t *testing.T) {
	ended := func() []client.Object {
		return []client.Object{loadTest(ends), stored(t, rv.Verdict{Outcome: rv.OutcomeFailed, Reason: verdict.ReasonThresholdsFailed, Thresholds: []rv.ThresholdResult{{Name: "clean"}}})}
	}
	runs := func() []client.Object { return []client.Object{loadTest(begins)} }
	none := func() []client.Object { return nil }
	for _, tc := range []struct {
		args    string
		objects func() []client.Object
		code    int
		want    string // of either stream
	}{
		{"stop pcf", runs, 0, "pcf is stopping; the report keeps everything that was measured\n"},
		{"stop pcf", none, 1, `"pcf" not found`},
		{"stop", none, 1, "NAME: the argument is missing"},
		{"suspend pcf", runs, 0, "pcf is pausing; it still receives the responses in flight\n"},
		{"resume pcf", runs, 0, "pcf is not suspended\n"},
		{"rate pcf 2000", runs, 0, "stage hold of pcf: 1000/s -> 2000/s\n"},
		{"rate pcf hold +10%", runs, 0, "stage hold of pcf: 1000/s -> 1100/s\n"},
		{"rate pcf -10%", runs, 0, "stage hold of pcf: 1000/s -> 900/s\n"},
		{"rate pcf hold -10% -n default", runs, 0, "stage hold of pcf: 1000/s -> 900/s\n"},
		{"rate pcf hold many", runs, 1, `RATE: "many" is not a rate`},
		{"rate pcf", runs, 1, "RATE: the argument is missing"},
		{"rate pcf 5 --nonsense", runs, 1, "--nonsense: unknown flag"},
		{"rate --help", runs, 0, "rate NAME [STAGE] RATE"},
		{"scale pcf 3", runs, 0, "pcf: 1 -> 3 shards; new shards get a share of the load when they are ready\n"},
		{"scale pcf 1", runs, 0, "spec.runner.shards of pcf is already 1\n"},
		{"scale pcf 0", runs, 1, `SHARDS: "0" is not a number of shards; allowed: 1 to 256`},
		{"scale pcf", runs, 1, "SHARDS: the argument is missing"},
		{"scale pcf 2", ended, 1, "pcf has already ended"},
		{"scale pcf 2", none, 1, `"pcf" not found`},
		{"status pcf", runs, 0, "next       kubectl h2surge watch pcf -n default\n"},
		{"status pcf --context c --kubeconfig k", runs, 0, "next       kubectl h2surge watch pcf -n default --context c --kubeconfig k\n"},
		{"status pcf", ended, 0, "next       kubectl h2surge report pcf -n default\n"},
		{"status pcf -o json", runs, 0, "\"kind\": \"LoadTest\",\n  \"metadata\": {\n    \"name\": \"pcf\""},
		{"status pcf -o yaml", runs, 0, "  phase: Running\n"},
		{"status pcf -o html", runs, 1, "-o: \"html\" is not a format"},
		{"status pcf", none, 1, "not found"},
		{"report pcf", ended, 0, "Verdict: Failed"},
		{"report pcf --exit-code", ended, 2, "Verdict: Failed"},
		{"report pcf -o json", ended, 0, `"outcome": "Failed"`},
		{"report pcf -o html", ended, 0, "<html"},
		{"report pcf -o pdf", ended, 1, "-o:"},
		{"report pcf", runs, 1, "pcf has no report: it has not ended (Running)"},
		{"report pcf --output-file /does/not/exist/x", ended, 1, "/does/not/exist"},
		{"watch pcf", ended, 0, " 1m0s completed\n"},
		{"watch pcf", none, 1, "not found"},
		{"lint -", none, 1, "the manifest has no LoadTest"},
		{"version", none, 0, "h2surge"},
		{"target", none, 1, `target: unknown command`},
	} {
		f := &fakeCluster{t: t, ticks: always(), objects: tc.objects()}
		code, out, errs := f.kubectl("", strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(out+errs, tc.want) {
			t.Errorf("%s: exit code %d, want %d and %q; got\n%s\n%s", tc.args, code, tc.code, tc.want, out, errs)
		}
	}
	f := &fakeCluster{t: t, down: true}
	if code, _, errs := f.kubectl("", "status", "pcf"); code != 5 || !strings.Contains(errs, "connection refused") {
		t.Errorf("no cluster: exit code %d, %s", code, errs)
	}
}

func TestKubeReportSaved(t *testing.T) {
	f := &fakeCluster{t: t, objects: []client.Object{loadTest(ends), stored(t, passedVerdict())}}
	dir := t.TempDir()
	for _, tc := range []struct{ file, output, want string }{{"r.txt", "", "Verdict: Passed"}, {"r.json", "", `"outcome"`}, {"r", "html", "<html"}} {
		file := filepath.Join(dir, tc.file)
		args := []string{"report", "pcf", "--output-file", file}
		if tc.output != "" {
			args = append(args, "-o", tc.output)
		}
		code, out, errs := f.kubectl("", args...)
		b, err := os.ReadFile(file)
		if code != 0 || out != "" || err != nil || !bytes.Contains(b, []byte(tc.want)) {
			t.Errorf("%s: exit code %d, %v, %s%s", tc.file, code, err, out, errs)
		}
	}
}

func TestKubeWatch(t *testing.T) {
	f := &fakeCluster{
		t: t, ticks: always(), size: cluster.Size{Width: 60, Height: 20},
		objects: []client.Object{loadTest(), stored(t, passedVerdict())}, steps: []func(*v1alpha1.LoadTest){begins, ends},
	}
	code, out, errs := f.kubectl("", "watch", "pcf")
	screen, after, left := strings.Cut(out, closeScreen)
	if code != 0 || !left || strings.Count(out, openScreen) != 1 || strings.Count(screen, goHome) != 2 || errs != "" {
		t.Errorf("exit code %d, %q, %s", code, out, errs)
	}
	if !strings.HasPrefix(after, "default/pcf  Completed  1m0s\n") || strings.ContainsRune(after, '\x1b') {
		t.Errorf("what stays is %q", after)
	}

	// Leaving: by a key or a signal, while the test continues.
	for _, f := range []*fakeCluster{
		{t: t, keys: make(chan byte, 2)}, {t: t, wishes: make(chan os.Signal, 1)},
	} {
		f.size, f.objects = cluster.Size{Width: 60, Height: 20}, []client.Object{loadTest(begins)}
		if f.keys != nil {
			f.keys <- 'x'
			f.keys <- terminal.KeyEnd
		} else {
			f.wishes <- os.Interrupt
		}
		if code, out, errs := f.kubectl("", "watch", "pcf"); code != 0 || !strings.Contains(out, closeScreen+"default/pcf  Running") {
			t.Errorf("exit code %d, %q, %s", code, out, errs)
		}
	}
}

// TestWhere: the flags of each command select the cluster.
func TestWhere(t *testing.T) {
	f := &fakeCluster{t: t, objects: []client.Object{loadTest()}}
	f.kubectl("", "status", "pcf", "-n", "core", "--context", "c", "--kubeconfig", "k")
	if f.asked.Namespace != "core" || f.asked.Context != "c" || f.asked.Kubeconfig != "k" {
		t.Errorf("%+v", f.asked)
	}
}

func TestKubeList(t *testing.T) {
	of := func(namespace, name string, change func(*v1alpha1.LoadTest)) *v1alpha1.LoadTest {
		lt := loadTest(change)
		lt.Namespace, lt.Name = namespace, name
		return lt
	}
	objects := []client.Object{
		of("default", "old", func(lt *v1alpha1.LoadTest) {
			ends(lt)
			lt.Labels = map[string]string{"app": "pcf"}
			lt.CreationTimestamp = metav1.NewTime(noon.Add(-48 * time.Hour))
			lt.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPassed, Status: metav1.ConditionTrue}}
		}),
		of("default", "new", begins),
		of("core", "fresh", func(*v1alpha1.LoadTest) {}),
	}
	for _, tc := range []struct {
		args, out, errs string
		code            int
	}{
		{"list", "NAME   PHASE       SHARDS   RATE   P50   P99   ERRORS   PASSED   AGE\n" +
			"new    Running     1/1      1000   1ms   2ms   0%       -        60s\n" +
			"old    Completed   1/1      1000   1ms   2ms   0%       True     2d\n", "", 0},
		{"ls -n core", "NAME    PHASE   SHARDS   RATE   P50   P99   ERRORS   PASSED   AGE\nfresh   -       -        -      -     -     -        -        60s\n", "", 0},
		{"list -l app=pcf -o yaml", "kind: LoadTestList\nitems:\n  - apiVersion: h2surge.io/v1alpha1\n    kind: LoadTest\n    metadata:\n      name: old\n", "", 0},
		{"list -n empty", "", "namespace empty has no LoadTests\n", 0},
		{"list -n empty -o json", `"items": []`, "", 0},
		{"list -A", "NAMESPACE   NAME    PHASE", "", 0},
		{"list -l ((", "", "--selector: ", 1},
		{"list -o wide", "", "-o: \"wide\" is not a format; allowed: text, json, yaml\n", 1},
	} {
		f := &fakeCluster{t: t, objects: objects}
		code, out, errs := f.kubectl("", strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(errs, tc.errs) || (tc.errs == "") != (errs == "") {
			t.Errorf("%s: exit code %d\n%s%s", tc.args, code, out, errs)
		}
	}
}

// The API server makes the name; the report and the messages have it.
func TestKubeGenerateName(t *testing.T) {
	for args, prefix := range map[string]string{
		"run -f - --generate-name":                    "pcf-",
		"run -f - --generate-name --name nightly":     "nightly-",
		"run -f - --generate-name --name " + long44(): long44() + "-",
	} {
		f := &fakeCluster{t: t, objects: []client.Object{loadTest()}}
		code, _, errs := f.kubectl(kubeManifest, strings.Fields(args)...)
		name, _, _ := strings.Cut(strings.TrimPrefix(errs, "created LoadTest default/"), "\n")
		if code != 0 || !strings.HasPrefix(name, prefix) || len(name) != len(prefix)+5 || !strings.Contains(errs, "watch "+name) {
			t.Errorf("%s: exit code %d, %q", args, code, errs)
		}
		lt := &v1alpha1.LoadTest{}
		if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, lt); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	f := &fakeCluster{t: t}
	if code, _, errs := f.kubectl(kubeManifest, "run", "-f", "-", "--generate-name", "--name", long44()+"x"); code != 1 || !strings.HasPrefix(errs, "--name: ") {
		t.Errorf("a prefix that is too long: exit code %d, %q", code, errs)
	}
}

// long44 is the longest name that leaves space for - and five characters.
func long44() string { return strings.Repeat("a", 44) }
