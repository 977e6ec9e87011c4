//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Objects that LoadTests of these stories name: a script, and a table of which nobody else may see
// what is in it.
const (
	script = `
apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
  sign.lua: |
    function on_request(req)
      req:set_header("x-signature", tostring(#req.body) .. "-" .. req.method)
    end
    function on_response(res)
      if res.status ~= 201 then return false, "not created" end
    end
`
	secretMark = "e2e-hidden"
	accounts   = `
apiVersion: v1
kind: Secret
metadata: {name: accounts}
stringData:
  accounts.csv: |
    name,token
    anna,e2e-hidden-1111
    bert,e2e-hidden-2222
    carl,e2e-hidden-3333
  no-names.csv: |
    anna,e2e-hidden-1111
    bert,e2e-hidden-2222
`
)

// visitors is a test on one shard. Its holes are the deadline, the key of the table and the request.
const visitors = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: visitors}
spec:
  activeDeadlineSeconds: %d
  targets: [{name: target, url: "http://target:8080"}]
  variables:
    - {name: account, csv: {secretKeyRef: {name: accounts, key: %s}}}
  templates:
    - name: visit
      method: POST
      timeout: 10s
      expect: {status: [201]}
      %s
  chains: [{name: visit, target: target, steps: [{template: visit}]}]
  rates: [{name: all, requests: 300, duration: 20s, requestsPerSecond: 300}]
`

func (s *story) applyVisitors(deadline time.Duration, table string, request ...string) {
	s.Helper()
	text := fmt.Sprintf(visitors, int(deadline.Seconds()), table, strings.Join(request, "\n      "))
	s.mustKubectl(text, "apply", "-f", "-")
}

// TestContent: a script comes from a ConfigMap, a table from a Secret; the requests have what they
// make of them, and what is secret is nowhere else.
func TestContent(t *testing.T) {
	t.Parallel()
	s := newStory(t, "content").withTarget(recording...)
	s.mustKubectl(script, "apply", "-f", "-")
	s.mustKubectl(accounts, "apply", "-f", "-")
	s.applyVisitors(2*time.Minute, "accounts.csv",
		`path: /visits/${account.name}`,
		`headers: [{name: authorization, value: "Bearer ${account.token}"}]`,
		`body: ${account.name}`,
		`script: {luaFrom: {configMapKeyRef: {name: scripts, key: sign.lua}}}`)
	lt := s.awaitFinished("visitors")

	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantFlawless(lt)
	s.wantReceived(lt)
	token := map[string]string{"anna": "1111", "bert": "2222", "carl": "3333"}
	visits := map[string]int{}
	for _, r := range s.record() {
		name := strings.TrimPrefix(r.Path, "/visits/")
		visits[name]++
		signature := fmt.Sprintf("%d-POST", len(name))
		if r.Body != name || field(r, "authorization") != "Bearer "+secretMark+"-"+token[name] || field(r, "x-signature") != signature {
			t.Fatalf("request %+v; want all of one row, and %s for x-signature", r, signature)
		}
	}
	for name := range token {
		if visits[name] != 100 {
			t.Errorf("%d requests of %s, want the rows in turn", visits[name], name)
		}
	}
	s.wantNowhere(secretMark)
}

// TestBadColumn: the operator does not read the table, so it is a runner that finds the mistake. It
// tells which, and nothing of what is in the table, although what it takes for the names of columns
// is data: the row of names was forgotten.
func TestBadColumn(t *testing.T) {
	t.Parallel()
	s := newStory(t, "column").withTarget()
	s.mustKubectl(accounts, "apply", "-f", "-")
	s.applyVisitors(2*time.Minute, "no-names.csv", `path: /visits/${account.token}`)
	lt := s.awaitFinished("visitors")

	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonPlanRejected)
	s.wantCondition(lt, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonPlanRejected)
	s.wantMessage(lt, v1alpha1.ConditionSucceeded, "chains[0].steps[0].path", `account has no column "token"`)
	s.wantNowhere(secretMark)
	if n := s.stats().Requests; n != 0 {
		t.Errorf("the target received %d requests", n)
	}
}

// TestMissingSecret: RunnersReady tells what the pods wait for, and so does the end when nobody makes
// it in time.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	s := newStory(t, "missing").withTarget()
	before := s.inventory()
	s.applyVisitors(15*time.Second, "accounts.csv", `path: /visits/${account.name}`)
	s.eventually(short, func() string {
		return lacks(s.loadTest("visitors"), v1alpha1.ConditionRunnersReady, v1alpha1.ReasonMountFailed, `secret "accounts" not found`)
	})
	lt := s.awaitFinished("visitors")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonDeadlineExceeded)
	s.wantMessage(lt, v1alpha1.ConditionSucceeded, "activeDeadlineSeconds (15)", `secret "accounts" not found`)
	s.mustKubectl("", "delete", "loadtest", "visitors")
	s.wantInventory(before)
}

// wantNowhere: a text that is secret is in no object that others may read, and in no log of ours.
func (s *story) wantNowhere(secret string) {
	s.Helper()
	places := map[string]string{
		"objects": s.mustKubectl("", "get", "loadtests,jobs,pods,configmaps,events", "-o", "yaml"),
	}
	maps, err := core.CoreV1().ConfigMaps(s.ns).List(s.ctx, metav1.ListOptions{})
	s.must(err)
	unzipped := 0
	for _, cm := range maps.Items {
		for key, b := range cm.BinaryData {
			if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(z)
				s.must(err)
				unzipped++
			}
			places[cm.Name+"/"+key] = string(b)
		}
	}
	if unzipped == 0 {
		s.Error("neither plan nor report is there to look at")
	}
	for _, p := range s.runners() {
		places["log of "+p.Name] = s.mustKubectl("", "logs", p.Name, "--tail=-1")
	}
	out, err := exec.CommandContext(s.ctx, "kubectl", "-n", operatorNamespace, "logs", "--tail=-1", "-l", operatorSelector).CombinedOutput()
	s.must(err)
	places["log of the operator"] = string(out)
	for place, text := range places {
		if at := strings.Index(text, secret); at >= 0 {
			s.Errorf("%s: there is ...%s...", place, text[max(0, at-80):min(len(text), at+80)])
		}
	}
	s.Logf("looked for %q in %d places", secret, len(places))
}
