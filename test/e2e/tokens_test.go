//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// tokenTest is an NF instance that sends requests with tokens. They expire after six seconds.
const tokenTest = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: tokens}
spec:
  runner: {shards: 2}
  targets:
    - {name: nrf, url: "http://target:8080", connections: 2}
    - name: udm
      url: http://target:8080
      connections: 4
      auth:
        oauth2:
          tokenURL: http://target:8080/oauth2/token
          http2: true
          scopes: [nudm-sdm]
          parameters: [{name: nfInstanceId, value: 6faf1bbc-6e4a-4454-a507-a14ef8e1bc5c}, {name: nfType, value: AMF}, {name: targetNfType, value: UDM}]
  chains:
    - name: read
      target: udm
      steps:
        - name: am-data
          request: {path: /nudm-sdm/v2/imsi-001010000000001/am-data, timeout: 30s, expect: {status: [200]}}
  rates: [{name: hold, duration: 15s, requestsPerSecond: 300}]
`

// tokenSetup registers the NF instance.
const tokenSetup = `    - name: register
      phase: Setup
      target: nrf
      steps:
        - name: register
          request: {method: PUT, path: /nnrf-nfm/v1/nf-instances/6faf1bbc-6e4a-4454-a507-a14ef8e1bc5c, body: '{"nfType":"AMF"}', expect: {status: [201]}}
  rates:`

// TestTokens: the NRF refuses tokens to an NF instance that is not registered, and the condition has its error. With a setup chain that
// registers the instance, two shards send each request with a token that the target accepts, although tokens expire during the load.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := newStory(t, "tokens").withRules(filepath.Join(samplesDir, "targets", "nrf-tokens.yaml"))
	s.mustKubectl(strings.Replace(tokenTest, "name: tokens", "name: unknown", 1), "apply", "-f", "-")
	s.eventually(short, func() string {
		c := meta.FindStatusCondition(s.loadTest("unknown").Status.Conditions, v1alpha1.ConditionRunnersReady)
		if c == nil || c.Reason != v1alpha1.ReasonNotAuthorized || !strings.Contains(c.Message, "invalid_client") {
			return "RunnersReady does not have the error of the NRF"
		}
		return ""
	})
	s.mustKubectl("", "delete", "loadtest", "unknown", "--timeout", time.Minute.String())
	before := s.ruleMatches()
	s.mustKubectl(strings.Replace(tokenTest, "  rates:", tokenSetup, 1), "apply", "-f", "-")
	lt := s.awaitFinished("tokens")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	r, matches := s.report(lt), s.ruleMatches()
	if n := r.Requests; n.Sent == 0 || n.Succeeded != n.Sent || n.Dropped != 0 || matches["am-data"] != n.Sent || matches["register"] != 1 {
		t.Errorf("%+v; the target counted %v", n, matches)
	}
	a := r.Authorizations
	if len(a) != 1 || a[0].Tokens < 6 || a[0].SentWithout != 0 || matches["token"]-before["token"] != a[0].Tokens+a[0].Failures {
		t.Errorf("%+v; the target counted %v, and %v before", a, matches, before)
	}
}

// ruleMatches returns how many requests matched each rule.
func (s *story) ruleMatches() map[string]int64 {
	s.Helper()
	out := map[string]int64{}
	for _, rule := range s.stats().Rules {
		out[rule.Name] = int64(rule.Matches)
	}
	return out
}
