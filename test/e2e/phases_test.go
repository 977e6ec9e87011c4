//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
)

// shop is a test on two shards: setup opens a shop, the load sells in it, teardown closes it. Its
// holes are the status that setup wants, what bounds the numbers, and the bounds of the load.
const shop = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: shop}
spec:
  targets: [{name: target, url: "http://target:8080", connections: 2}]
  variables:
    - {name: number, range: {end: %d}, atEnd: Stop}
    - {name: region, perShard: {values: [north, south]}}
    - {name: run, uuid: {}, scope: Global}
  templates:
    - name: open
      method: POST
      path: /shops
      body: ${run}
      timeout: 10s
      expect: {status: [%s]}
      capture: [{name: shop, header: location}]
    - name: sell
      method: POST
      path: ${shop}/sales
      headers: [{name: x-region, value: "${region}"}, {name: x-run, value: "${run}"}]
      body: ${number}
      timeout: 10s
      expect: {status: [201]}
    - {name: close, method: DELETE, path: "${shop}", timeout: 10s, expect: {status: [204]}}
  chains:
    - {name: open, phase: Setup, target: target, steps: [{template: open}]}
    - {name: sell, target: target, steps: [{template: sell}]}
    - {name: close, phase: Teardown, target: target, steps: [{template: close}]}
  rates: [{name: hold, duration: %s, requestsPerSecond: 400}]
  runner: {shards: 2}
`

func (s *story) applyShop(numbers int, opened string, length time.Duration) {
	s.Helper()
	s.mustKubectl(fmt.Sprintf(shop, numbers, opened, length), "apply", "-f", "-")
}

// TestTwoShards: setup and teardown run once, not once for each shard; what setup captures is known
// to both; each shard has the value that is its own, and of a sequence values that no other has.
func TestTwoShards(t *testing.T) {
	t.Parallel()
	s := newStory(t, "shards").withTarget(recording...)
	const numbers = 1000
	s.applyShop(numbers, "201", time.Minute)
	lt := s.awaitFinished("shop")

	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantFlawless(lt)
	s.wantReceived(lt)
	r := lt.Status.Results
	one := v1alpha1.OnceResult{Sent: 1, Succeeded: 1}
	if r.Setup != one || r.Teardown != one || r.Requests.Sent != numbers || !r.Exhausted {
		t.Errorf("setup %+v, teardown %+v, sent %d, exhausted %v; want one of each and all numbers", r.Setup, r.Teardown, r.Requests.Sent, r.Exhausted)
	}
	sales := s.wantShop(s.record())
	s.wantParts(sales, numbers)
}

// wantShop: the shop is opened first, closed last, and everything in between is sold in it. It
// returns the sales.
func (s *story) wantShop(all []mock.Recorded) []mock.Recorded {
	s.Helper()
	if len(all) < 3 {
		s.Fatalf("%d requests, want setup, load and teardown", len(all))
	}
	first, last, sales := all[0], all[len(all)-1], all[1:len(all)-1]
	if first.Method != http.MethodPost || first.Path != "/shops" {
		s.Errorf("the first request is %s %s, want that of setup", first.Method, first.Path)
	}
	if last.Method != http.MethodDelete || !strings.HasPrefix(last.Path, "/shops/") {
		s.Errorf("the last request is %s %s, want that of teardown", last.Method, last.Path)
	}
	if first.Connection != last.Connection {
		s.Errorf("setup came on connection %d, teardown on %d; want the same shard to run both", first.Connection, last.Connection)
	}
	for i, r := range sales {
		if r.Method != http.MethodPost || r.Path != last.Path+"/sales" || field(r, "x-run") != first.Body {
			s.Fatalf("request %d is %s %s of run %q, want a sale in %s of run %q", i, r.Method, r.Path, field(r, "x-run"), last.Path, first.Body)
		}
	}
	return sales
}

// wantParts: of the numbers each was sent once, and each connection, which is a shard, has a region.
func (s *story) wantParts(sales []mock.Recorded, numbers int) {
	s.Helper()
	seen, regions := map[int]bool{}, map[uint64]string{}
	count := map[string]int{}
	for _, r := range sales {
		n, err := strconv.Atoi(r.Body)
		if err != nil || n < 0 || n >= numbers || seen[n] {
			s.Errorf("number %q: want each from 0 to %d once", r.Body, numbers-1)
		}
		seen[n] = true
		region := field(r, "x-region")
		if other, known := regions[r.Connection]; known && other != region {
			s.Fatalf("connection %d has regions %s and %s", r.Connection, other, region)
		}
		regions[r.Connection] = region
		count[region]++
	}
	if len(seen) != numbers || len(regions) != 2 || count["north"] != numbers/2 || count["south"] != numbers/2 {
		s.Errorf("%d numbers, regions by connection %v, sales by region %v; want %d, a half in each region", len(seen), regions, count, numbers)
	}
}

// TestSetupFails: a setup chain that fails is the end of the test. Not one request of the load is sent.
func TestSetupFails(t *testing.T) {
	t.Parallel()
	s := newStory(t, "setup").withTarget(recording...)
	s.applyShop(1000, "200", time.Minute) // the target says 201
	lt := s.awaitFinished("shop")

	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonSetupFailed)
	s.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonSetupFailed)
	s.wantMessage(lt, v1alpha1.ConditionSucceeded, "chain open", "step open", "status 201")
	if lt.Status.Phase != v1alpha1.PhaseFailed || lt.Status.StartTime != nil {
		t.Errorf("phase %s, started at %v; want %s and no start", lt.Status.Phase, lt.Status.StartTime, v1alpha1.PhaseFailed)
	}
	all := s.record()
	if len(all) != 1 || all[0].Path != "/shops" {
		t.Errorf("the target received %+v, want the request of setup and nothing else", all)
	}
}

// wantMessage: the message of a condition has all these parts.
func (s *story) wantMessage(lt *v1alpha1.LoadTest, condition string, parts ...string) {
	s.Helper()
	c := meta.FindStatusCondition(lt.Status.Conditions, condition)
	if c == nil {
		s.Fatalf("there is no condition %s", condition)
	}
	s.Logf("%s %s: %s", condition, c.Reason, c.Message)
	for _, p := range parts {
		if !strings.Contains(c.Message, p) {
			s.Errorf("%s says %q, want %q in it", condition, c.Message, p)
		}
	}
}

// TestStopTearsDown: what setup made is cleared away, too, when spec.stop ends the load.
func TestStopTearsDown(t *testing.T) {
	t.Parallel()
	s := newStory(t, "teardown").withTarget(recording...)
	s.applyShop(1_000_000, "201", 5*time.Minute)
	s.awaitLoad(400, short)
	s.stop("shop")
	lt := s.awaitFinished("shop")

	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonStopped)
	s.wantFlawless(lt)
	s.wantReceived(lt)
	if n := lt.Status.Results.Teardown; n != (v1alpha1.OnceResult{Sent: 1, Succeeded: 1}) {
		t.Errorf("teardown %+v, want one request", n)
	}
	s.wantShop(s.record())
}
