//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
)

// samplesDir has what users start from; its folder targets has rules for the target.
const samplesDir = "../../config/samples"

// samples says of each LoadTest in config/samples what it runs against.
var samples = map[string]struct {
	// rules is a file of config/samples/targets; "": config/target as it is.
	rules string
	// protos are the files of config/samples/targets that the rules name.
	protos []string
	// alone: it needs an exclusive CPU, so it gets the cluster for itself.
	alone bool
	// elsewhere says why it is not run here.
	elsewhere string
}{
	"amf-event-subscription": {rules: "amf.yaml"},
	"ausf-authentication":    {rules: "ausf.yaml"},
	"closed-loop":            {alone: true},
	"gateway":                {},
	"grpc":                   {rules: "grpc.yaml", protos: []string{"health.proto", "registry.proto"}},
	"language":               {},
	"load-share":             {elsewhere: "TestLoadShare runs it: its target is two pods of a StatefulSet"},
	"lossy-nodes":            {},
	"mtls":                   {elsewhere: "the target speaks no TLS; internal/cli/secure_test.go has a server that does"},
	"nrf-registration":       {rules: "nrf.yaml"},
	"nrf-token":              {rules: "nrf-tokens.yaml"},
	"observe":                {},
	"pcf-app-sessions":       {},
	"pcf-events":             {rules: "pcf.yaml"},
	"quickstart":             {elsewhere: "TestQuickstart applies it as it is"},
	"slow-rate":              {},
	"smf-pdu-session":        {rules: "smf.yaml"},
	"udm-data-change":        {rules: "udm.yaml"},
	"udm-sdm-get":            {rules: "udm.yaml"},
}

// TestSamples runs what is in config/samples, with less load than it asks for, and compares what
// the runners say with what the target has counted.
func TestSamples(t *testing.T) {
	var together []string
	for _, name := range sampleNames(t) {
		c, known := samples[name]
		switch {
		case !known:
			t.Errorf("%s: the table does not say what it runs against", name)
		case c.elsewhere != "":
			t.Logf("%s: %s", name, c.elsewhere)
		case c.alone:
			t.Run(name, func(t *testing.T) { runSample(t, name) })
		default:
			together = append(together, name)
		}
	}
	for _, name := range together {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runSample(t, name)
		})
	}
}

// sampleNames are those of the files, which are those of the LoadTests in them, too.
func sampleNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(samplesDir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); name != "kustomization" {
			names = append(names, name)
		}
	}
	if len(names) < len(samples) {
		t.Errorf("%s has %q only", samplesDir, names)
	}
	return names
}

func runSample(t *testing.T, name string) {
	s, dir, c := newStory(t, "sample-"+name), filepath.Join(samplesDir, "targets"), samples[name]
	if c.rules == "" {
		s.withTarget()
	} else {
		var named []string
		for _, proto := range c.protos {
			named = append(named, filepath.Join(dir, proto))
		}
		s.withRules(filepath.Join(dir, c.rules), named...)
	}
	s.applySample(name, lessLoad, patient)
	lt := s.awaitFinished(name)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantFlawless(lt)
	s.wantReceived(lt)
	s.wantNotified(lt)
}

// wantCalls: if the target serves proto files, each request was a call, and those that the test expects to fail did.
func (s *story) wantCalls(lt *v1alpha1.LoadTest, st mock.Stats) {
	s.Helper()
	if !slices.ContainsFunc(lt.Spec.Targets, func(t v1alpha1.Target) bool { return len(t.ProtoFrom) > 0 }) {
		return
	}
	if ok, absent := st.ByCode["OK"], st.ByCode["NOT_FOUND"]; ok == 0 || absent == 0 || ok+absent != st.Answered {
		s.Errorf("the target answered %d requests, and calls with the codes %v", st.Answered, st.ByCode)
	}
}

// wantNotified: the runners have received in time what the target says it has sent, and nothing else.
func (s *story) wantNotified(lt *v1alpha1.LoadTest) {
	s.Helper()
	st := s.stats()
	if st.RuleStats == nil || len(lt.Spec.Listeners) == 0 {
		return
	}
	var sent int64
	for _, n := range st.Notifications {
		sent += int64(n.Sent)
	}
	r := s.report(lt)
	all := r.Listeners[0].ListenerCounts
	for i := range r.Listeners[1:] {
		all.Add(&r.Listeners[1+i].ListenerCounts, 1)
	}
	if sent == 0 || all.Received != sent || all.InTime != sent || all.Awaited != sent {
		s.Errorf("the target sent %d notifications, the runners counted %+v", sent, all)
	}
}

// applySample applies the file: the LoadTest with changes, other objects as they are.
func (s *story) applySample(name string, change ...func(*v1alpha1.LoadTestSpec)) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(samplesDir, name+".yaml"))
	s.must(err)
	docs := strings.Split(string(text), "\n---\n")
	slices.Reverse(docs) // the LoadTest comes first in the file and refers to the others
	for _, doc := range docs {
		var kind metav1.TypeMeta
		s.must(yaml.Unmarshal([]byte(doc), &kind))
		if kind.Kind == "LoadTest" {
			lt := &v1alpha1.LoadTest{}
			s.must(yaml.UnmarshalStrict([]byte(doc), lt))
			for _, f := range change {
				f(&lt.Spec)
			}
			doc = s.manifest(lt)
		}
		s.mustKubectl(doc, "apply", "-f", "-")
	}
}

// awaitFinished waits for the end of a test, whatever that is.
func (s *story) awaitFinished(name string) *v1alpha1.LoadTest {
	s.Helper()
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/"+name, "--timeout=3m")
	return s.loadTest(name)
}

// lessLoad is as much as a busy machine of two CPUs has for several tests at a time.
func lessLoad(spec *v1alpha1.LoadTestSpec) {
	const rate, requests, warmUp, measured = 500, 20_000, time.Second, 2 * time.Second
	for i := range spec.Rates {
		r := &spec.Rates[i]
		if r.ClosedLoop != nil {
			r.Requests = lower(r.Requests, requests)
		}
		if r.RequestsPerSecond != nil {
			r.RequestsPerSecond = lower(r.RequestsPerSecond, rate)
		}
		if r.Duration == nil {
			continue
		}
		whole := r.Duration.Duration
		r.Duration = &v1alpha1.Duration{Duration: min(whole, measured)}
		if r.WarmUp {
			r.Duration = &v1alpha1.Duration{Duration: min(whole, warmUp)}
		}
		if p := r.RequestsPer; p != nil { // as many in less time
			shorter := float64(r.Duration.Duration) / float64(whole)
			p.Period.Duration = max(time.Second, time.Duration(float64(p.Period.Duration)*shorter))
		}
	}
}

// lower is the smaller one of what is asked for, if anything is, and a bound.
func lower(asked *int64, bound int64) *int64 {
	if asked != nil && *asked < bound {
		bound = *asked
	}
	return &bound
}

// patient takes away what fails on a machine that does something else for a while: the samples
// are run to see what they send, not how fast it is answered.
func patient(spec *v1alpha1.LoadTestSpec) {
	const long = 10 * time.Second
	for _, r := range requests(spec) {
		if r.Timeout != nil {
			r.Timeout = &v1alpha1.Duration{Duration: max(long, r.Timeout.Duration)}
		}
		if r.Expect == nil {
			continue
		}
		for k := range r.Expect.Checks {
			if c := &r.Expect.Checks[k]; c.ResponseTime != nil {
				c.LessThan = long.String()
			}
		}
	}
	for _, chain := range spec.Chains {
		for _, step := range chain.Steps {
			if a := step.Await; a != nil {
				a.Timeout = &v1alpha1.Duration{Duration: long}
			}
		}
	}
	for i := range spec.Listeners {
		spec.Listeners[i].Retention = &v1alpha1.Duration{Duration: long}
	}
	for i := range spec.Thresholds {
		if t := &spec.Thresholds[i]; t.Percentile != "" {
			t.Max = ptr.To(intstr.FromString(long.String()))
		}
	}
}

// requests returns the requests of all templates and steps.
func requests(spec *v1alpha1.LoadTestSpec) (out []*v1alpha1.Request) {
	for i := range spec.Templates {
		out = append(out, &spec.Templates[i].Request)
	}
	for i := range spec.Chains {
		for j := range spec.Chains[i].Steps {
			if r := spec.Chains[i].Steps[j].Request; r != nil {
				out = append(out, r)
			}
		}
	}
	return out
}

// wantFlawless checks that each request was sent and answered as expected, that no instance was aborted, and
// that all thresholds passed.
func (s *story) wantFlawless(lt *v1alpha1.LoadTest) {
	s.Helper()
	r := lt.Status.Results
	if r == nil {
		s.Fatalf("status.results is not set:\n%s", conditions(lt))
	}
	if n := r.Requests; n.Sent == 0 || n.Succeeded != n.Sent || n.Dropped != 0 || r.ErrorRate != 0 || r.Partial {
		s.Errorf("errorRate %v, partial %v, requests %+v; want all to succeed", r.ErrorRate, r.Partial, n)
	}
	if r.Setup.Succeeded != r.Setup.Sent || r.Teardown.Succeeded != r.Teardown.Sent {
		s.Errorf("setup %+v, teardown %+v; want all to succeed", r.Setup, r.Teardown)
	}
	for i, c := range r.Chains {
		// What runs once is counted apart.
		ran := c.Started > 0 || lt.Spec.Chains[i].Phase != v1alpha1.PhaseLoad
		if !ran || c.Aborted != 0 || len(c.AbortedBy) != 0 {
			s.Errorf("chain %s: %d started, %d aborted by %+v", c.Name, c.Started, c.Aborted, c.AbortedBy)
		}
		for _, step := range c.Steps {
			if step.Failed != 0 || len(step.FailedBy) != 0 {
				s.Errorf("step %s of chain %s: %d failed by %+v", step.Name, c.Name, step.Failed, step.FailedBy)
			}
		}
	}
	if lt.Status.Verdict == nil {
		s.Fatal("status.verdict is not set")
	}
	for _, t := range lt.Status.Verdict.Thresholds {
		if !t.Passed {
			s.Errorf("threshold %s: %s, want %s", t.Name, t.Observed, t.Limit)
		}
	}
}

// wantReceived: what the runners say they sent is what the target has received.
func (s *story) wantReceived(lt *v1alpha1.LoadTest) {
	s.Helper()
	sent, st := s.wantCounts(lt), s.stats()
	if st.Requests != sent || st.Answered != sent {
		s.Errorf("the runners sent %d requests, the target received %d and answered %d", sent, st.Requests, st.Answered)
	}
	if st.RuleStats != nil && st.Unmatched != 0 {
		s.Errorf("%d requests were for no rule", st.Unmatched)
	}
	s.wantCalls(lt, st)
	r := lt.Status.Results
	s.Logf("sent %d, warm-up %d, setup %d, teardown %d; received %d: %v", r.Requests.Sent, r.WarmUpSent, r.Setup.Sent, r.Teardown.Sent,
		st.Requests, fmt.Sprint(st.ByMethod, st.ByStatus))
}
