//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	runnerv1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// sample is what a user applies first; its target is the Service of config/target.
const sample = "../../config/samples/quickstart.yaml"

// quickstart is the sample under another name, with what a story changes in it.
func (s *story) quickstart(name string, shards int32, change ...func(*v1alpha1.LoadTestSpec)) *v1alpha1.LoadTest {
	s.Helper()
	text, err := os.ReadFile(sample)
	s.must(err)
	lt := &v1alpha1.LoadTest{}
	s.must(yaml.UnmarshalStrict(text, lt))
	lt.Name, lt.Namespace = name, s.ns
	lt.Spec.Runner.Shards = shards
	for _, f := range change {
		f(&lt.Spec)
	}
	return lt
}

// hold replaces the stages by a single one.
func hold(rps int64, d time.Duration) func(*v1alpha1.LoadTestSpec) {
	return func(spec *v1alpha1.LoadTestSpec) {
		spec.Rates = []v1alpha1.Rate{{Name: "hold", RequestsPerSecond: &rps, Duration: &v1alpha1.Duration{Duration: d}}}
	}
}

// withoutThresholds is for stories that are not about speed.
func withoutThresholds(spec *v1alpha1.LoadTestSpec) { spec.Thresholds = nil }

// report reads the whole Report from the ConfigMap that status names.
func (s *story) report(lt *v1alpha1.LoadTest) runnerv1.Report {
	s.Helper()
	if lt.Status.Report == nil {
		s.Fatal("status.report is not set")
	}
	cm, err := core.CoreV1().ConfigMaps(s.ns).Get(s.ctx, lt.Status.Report.ConfigMapRef.Name, metav1.GetOptions{})
	s.must(err)
	z, err := gzip.NewReader(bytes.NewReader(cm.BinaryData["report.json.gz"]))
	s.must(err)
	var r runnerv1.Report
	s.must(json.NewDecoder(z).Decode(&r))
	return r
}

// wantCounts checks that the run's numbers add up, in status and in the report, and returns all
// that was sent: warm-up, setup and teardown included.
func (s *story) wantCounts(lt *v1alpha1.LoadTest) uint64 {
	s.Helper()
	if lt.Status.Results == nil {
		s.Fatal("status.results is not set")
	}
	n := lt.Status.Results.Requests
	if n.Sent != n.Done+n.TimedOut+n.Reset+n.ConnectionLost+n.InFlightAtEnd || n.Done != n.Succeeded+n.FailedChecks {
		s.Errorf("status.results.requests does not add up: %+v", n)
	}
	r := s.report(lt)
	if r.Requests.Sent != n.Sent || r.WarmUp.Sent != lt.Status.Results.WarmUpSent {
		s.Errorf("the report has %d sent, %d of warm-up; status has %d and %d", r.Requests.Sent, r.WarmUp.Sent, n.Sent, lt.Status.Results.WarmUpSent)
	}
	var steps int64
	for _, c := range lt.Status.Results.Chains {
		for _, step := range c.Steps {
			steps += step.Sent
		}
	}
	if steps != n.Sent {
		s.Errorf("the steps' requests sum up to %d, sent is %d", steps, n.Sent)
	}
	once := lt.Status.Results.Setup.Sent + lt.Status.Results.Teardown.Sent
	return uint64(n.Sent + lt.Status.Results.WarmUpSent + once + r.Graceful.Sent)
}
