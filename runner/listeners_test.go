package runner

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/test/peer"
)

// TestMain lets tests that run in parallel wait at the same time: they wait for listenersKeep and for tokens, and use little CPU.
// A worker that waits in the kernel holds a P; peers get one at once only if there are more.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(32)
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// notifier is net/http's server and client over h2c: it answers a subscription, and then notifies as its body asks.
type notifier struct {
	address string
	client  http.Client
	sent    atomic.Int64
	group   sync.WaitGroup
	refused chan string
}

func newNotifier(t *testing.T, config ...func(*http.Transport)) *notifier {
	t.Helper()
	var proto http.Protocols
	proto.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &proto}
	for _, f := range config {
		f(transport)
	}
	n := &notifier{client: http.Client{Transport: transport}, refused: make(chan string, 1)}
	t.Cleanup(n.client.CloseIdleConnections)
	n.address = peer.Serve(t, true, n)
	return n
}

// ServeHTTP reads "callback id how".
func (n *notifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var callback, id, how string
	_, _ = fmt.Sscan(string(body), &callback, &id, &how)
	url := callback + "/notify/" + id + "?q=1"
	switch how {
	case "early":
		n.notify(url, id)
	case "once", "twice":
		n.group.Go(func() { n.notify(url, id) })
		if how == "twice" {
			n.group.Go(func() { n.notify(url, id) })
		}
	}
	w.WriteHeader(http.StatusCreated)
}

func (n *notifier) notify(url, id string) {
	n.sent.Add(1)
	r, err := n.client.Post(url, "application/json", strings.NewReader(`{"id":"`+id+`"}`))
	if err == nil {
		var body []byte
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusAccepted || !bytes.Equal(body, []byte("seen")) || r.Header.Get("X-Server") != "load" {
			err = fmt.Errorf("status %d, body %q, header %v", r.StatusCode, body, r.Header)
		}
	}
	if err != nil {
		select {
		case n.refused <- err.Error():
		default:
		}
	}
}

// listenersKeep is longer than a busy machine takes between a notification and the response to its request, whichever comes
// first, or between two copies.
const listenersKeep = 5 * time.Second

// subscriptions is a chain that subscribes and awaits the notification. how is what the notifier does.
func subscriptions(address, how string) *rv.Plan {
	second := 20 * time.Second
	return &rv.Plan{
		Name:    "default/subscriptions",
		Targets: []rv.Target{{Name: "t", Protocol: rv.ProtocolH2C, Connections: 4, MaxConcurrentStreams: 10, ConnectTimeout: second, Endpoints: []rv.Endpoint{{Scheme: "http", Authority: address, Address: address}}}},
		Listeners: []rv.Listener{{
			Name: "events", Status: 202, Headers: []rv.ListenerHeader{{Name: "x-server", Value: "load"}}, Body: "seen", Retention: listenersKeep,
		}},
		Variables: []rv.Variable{{Name: "id", Counter: &rv.Counter{Start: 1, Step: 1}}, {Name: "how", List: []string{how}}},
		Chains: []rv.Chain{{Name: "c", Weight: 1, Steps: []rv.Step{
			{
				Name: "subscribe", Method: "POST", Path: rv.Text{{Literal: "/subscriptions"}}, Timeout: second,
				Body: rv.Text{{Listener: 1}, {Literal: " "}, {Variable: 1}, {Literal: " "}, {Variable: 2}},
			},
			{
				Name: "notification", Await: &rv.Await{Key: rv.Text{{Literal: "/notify/"}, {Variable: 1}}}, Timeout: second,
				Expect: rv.Expect{Checks: []rv.Check{{Name: "id", Source: &rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/id"}, Match: &rv.Match{Op: rv.MatchEquals, Want: rv.Text{{Variable: 1}}}}}},
			},
		}}},
		Rates: []rv.Rate{{Name: "r", ClosedLoop: true, Count: 20, Requests: 200}},
		Drain: second, Shards: 1,
	}
}

// TestListeners: over real sockets, each notification that was sent is counted once, each worker gets those of its own
// requests, and nothing depends on how fast the machine is. Package loop has the cases that depend on time.
func TestListeners(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"once", "early", "twice"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			n := newNotifier(t)
			plan := subscriptions(n.address, how)
			plan.Thresholds = []rv.Threshold{{Name: "all", Metric: rv.MetricNotificationErrorRate, Max: "0%"}}
			s := completeRun(t, plan, 2)
			law(t, s)
			got, twice := &s.Listeners[0], int64(0)
			if how == "twice" {
				twice = 200
			}
			if got.InTime != 200 || got.Awaited != 200 || got.Received != 200+twice || got.Duplicate+got.Unexpected != twice || got.FailedChecks != 0 {
				t.Errorf("%+v", *got)
			}
			if n.group.Wait(); got.Received != n.sent.Load() {
				t.Errorf("received %d notifications, %d were sent", got.Received, n.sent.Load())
			}
			if diff := cmp.Diff(rv.AwaitCounts{Awaited: 200, InTime: 200}, got.Measured); diff != "" {
				t.Errorf("measured (-want +got):\n%s", diff)
			}
			want := []rv.SelectionCounters{{
				SelectionCounts: rv.SelectionCounts{Sent: 200, Done: 200, Succeeded: 200, Received: got.Received, Duplicate: got.Duplicate, Unexpected: got.Unexpected}, Time: got.Time,
			}}
			if diff := cmp.Diff(want, s.Selections); diff != "" {
				t.Errorf("selections (-want +got):\n%s", diff)
			}
			if got.Time.Count != 200 || got.Time.Min <= 0 {
				t.Errorf("%d times of 200 notifications, from %d us", got.Time.Count, got.Time.Min)
			}
			if diff := cmp.Diff(rv.ChainCounters{Started: 200, Completed: 200}, s.Chains[0]); diff != "" {
				t.Errorf("chains (-want +got):\n%s", diff)
			}
			select {
			case why := <-n.refused:
				t.Error(why)
			default:
			}
		})
	}
}

// completeRun runs a plan to its end with some workers.
func completeRun(t *testing.T, plan *rv.Plan, workers int) *rv.Snapshot {
	t.Helper()
	s, err := Run(t.Context(), plan, split.Whole(plan), Options{Workers: workers, NoPin: true, Alone: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Problem != "" {
		t.Fatalf("%s: %s", s.Problem, s.Message)
	}
	return s
}

// TestThresholdsWithNotifications: thresholds on a stage and on a chain are of its requests, and not of the step that awaits notifications.
func TestThresholdsWithNotifications(t *testing.T) {
	t.Parallel()
	plan := subscriptions(newNotifier(t).address, "once")
	plan.Thresholds = []rv.Threshold{
		{Name: "stage", Metric: rv.MetricErrorRate, Max: "0%", Of: rv.Selector{Stage: "r"}},
		{Name: "chain", Metric: rv.MetricResponseTime, Percentile: "p99", Max: "5s", Of: rv.Selector{Chain: "c"}},
	}
	for i, s := range completeRun(t, plan, 1).Selections {
		if s.Sent != 200 || s.Succeeded != 200 || i == 1 && s.Time.Count != 200 {
			t.Errorf("selection %d: %+v", i, s)
		}
	}
}

// brokenListener fails some times, and is then closed.
type brokenListener struct {
	net.Listener
	failures int
}

func (l *brokenListener) Accept() (net.Conn, error) {
	if l.failures == 0 {
		return nil, net.ErrClosed
	}
	l.failures--
	return nil, syscall.EMFILE
}

// TestAcceptFails: a listener that cannot accept connections for some time logs this once.
func TestAcceptFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r, err := New(subscriptions("127.0.0.1:1", "once"), Options{NoPin: true, Workers: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	r.servers[0].acceptFrom(&brokenListener{failures: 3}, 0)
	if n := strings.Count(log.String(), "cannot accept"); n != 1 {
		t.Errorf("%d messages:\n%s", n, &log)
	}
}
