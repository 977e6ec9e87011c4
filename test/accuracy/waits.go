package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/test/harness"
)

const (
	// waitDelay is how long the server takes for each response.
	waitDelay = 10 * time.Millisecond
	// waitTolerance is how much later than the server a client may see the end of a response, in microseconds. A request
	// that waits for a timer is later than that.
	waitTolerance = 5000
)

// wait is a row of waitsTable.
type wait struct {
	name, target, spec string
	// client returns the longest time that requests took, where the server's log is not enough.
	client func(b *lab, manifest string, log *serverLog) (time.Duration, error)
}

const (
	noKeepAlive = "protocol: http1, connections: 1, http1: {keepAlive: false}"
	spaced      = `
  chains: [{name: get, target: target, steps: [{name: get, request: {path: /}}]}]
  rates: [{name: load, requestsPerSecond: 20, duration: 2s}]`
	closed = `
  chains: [{name: get, target: target, steps: [{name: get, request: {path: /}}]}]
  rates: [{name: load, closedLoop: {concurrency: 1}, requests: 20}]`
	graceful = `
  chains: [{name: get, target: target, steps: [{name: get, repeat: {count: 20}, request: {path: /}}]}]
  rates: [{name: load, closedLoop: {concurrency: 1}, requests: 1}]
  gracefulStop: 1m`
	teardown = `
  chains:
    - {name: get, target: target, steps: [{name: get, request: {path: /}}]}
    - {name: end, phase: Teardown, target: target, steps: [{name: get, repeat: {count: 20}, request: {path: /}}]}
  rates: [{name: load, closedLoop: {concurrency: 1}, requests: 1}]`
)

var waits = []wait{
	{"HTTP/2, OnDemand", "protocol: h2c, connecting: {open: OnDemand}", spaced, (*lab).reported},
	{"HTTP/1.1, OnDemand", "protocol: http1, connecting: {open: OnDemand}", spaced, (*lab).reported},
	{"no keep-alive", noKeepAlive, spaced, (*lab).reported},
	{"no keep-alive, closed loop", noKeepAlive, closed, (*lab).sequence},
	{"no keep-alive, gracefulStop", noKeepAlive, graceful, (*lab).sequence},
	{"no keep-alive, teardown", noKeepAlive, teardown, (*lab).sequence},
	{"no keep-alive, try", noKeepAlive, graceful, (*lab).tried},
}

// waitsTable compares times with those of the server where requests wait for their connections.
func waitsTable() table {
	t := table{
		title: "Requests that wait for a connection",
		intro: fmt.Sprintf("The connection opens while a request waits for it, and the server, of Go's net/http, takes %v for each response. `server` is its own longest time from a request to the end of the response. `client` is the longest response time of the report. Where each request follows the response to the one before it, `client` is the longest time between the ends of two responses, by the server's clock. The difference must be at most %s ms: a client that forgets a request sends it when its next timer fires.", waitDelay, milliseconds(waitTolerance)),
		head:  []string{"requests", "server, ms", "client, ms", "difference, ms"},
	}
	for _, w := range waits {
		t.rows = append(t.rows, row{name: "wait: " + w.name, measure: func(b *lab) ([]line,
			error) {
			return b.measureWait(w)
		}})
	}
	return t
}

// measureWait shows the round with the median difference.
func (b *lab) measureWait(w wait) ([]line, error) {
	type times struct{ server, client float64 }
	var all []times
	for range rounds {
		log := newServerLog()
		client, err := w.client(b, w.manifest(log.server.URL), log)
		log.server.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, times{us(log.longest()), us(client)})
	}
	slices.SortFunc(all, func(x, y times) int { return cmp.Compare(x.client-x.server, y.client-y.server) })
	got := all[len(all)/2]
	l := line{cells: []string{w.name, milliseconds(got.server), milliseconds(got.client),
		milliseconds(got.client - got.server)}}
	l.near("difference", (got.client-got.server)/1e3, 0, waitTolerance/1e3, " ms")
	return []line{l}, nil
}

func us(d time.Duration) float64 { return float64(d.Microseconds()) }

func (w wait) manifest(url string) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: accuracy}
spec:
  targets: [{name: target, url: %q, %s}]%s
`, url, w.target, w.spec)
}

// reported runs the LoadTest and returns the longest response time of its report.
func (b *lab) reported(manifest string, log *serverLog) (time.Duration, error) {
	r, err := b.generate(manifest)
	if err != nil {
		return 0, err
	}
	if n := int64(len(log.requests)); r.Requests.Sent != n || n == 0 {
		return 0, fmt.Errorf("the report has %d requests, and the server counted %d", r.Requests.Sent, n)
	}
	return time.Duration(r.ResponseTime.Max) * time.Microsecond, nil
}

// sequence runs the LoadTest and returns the longest time between two responses.
func (b *lab) sequence(manifest string, log *serverLog) (time.Duration, error) {
	if _, err := b.generate(manifest); err != nil {
		return 0, err
	}
	return log.between()
}

// tried is sequence with "h2surge try".
func (b *lab) tried(manifest string, log *serverLog) (time.Duration, error) {
	f, err := harness.Run(b.Ctx, harness.Command{Argv: []string{b.H2surge, "try", "-f", "-"}, Stdin: manifest,
		CPUs: b.ClientCPUs()}, time.Minute)
	if err != nil {
		return 0, err
	}
	if f.Code != verdict.ExitPassed {
		return 0, fmt.Errorf("try: exit code %d: %s", f.Code, harness.LastLine(f.Stderr))
	}
	return log.between()
}

// serverLog is a server that notes when requests start and end.
type serverLog struct {
	server   *httptest.Server
	mu       sync.Mutex
	requests []handled // not to be read before the client has ended
}

type handled struct{ started, ended time.Time }

func newServerLog() *serverLog {
	l := &serverLog{}
	l.server = httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		h := handled{started: time.Now()}
		time.Sleep(waitDelay)
		h.ended = time.Now()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.requests = append(l.requests, h)
	}))
	l.server.Config.Protocols = &http.Protocols{}
	l.server.Config.Protocols.SetHTTP1(true)
	l.server.Config.Protocols.SetUnencryptedHTTP2(true)
	l.server.Start()
	return l
}

// longest returns the longest time of a request.
func (l *serverLog) longest() (d time.Duration) {
	for _, h := range l.requests {
		d = max(d, h.ended.Sub(h.started))
	}
	return d
}

// between returns the longest time between the ends of two responses, the first of which ended before the next request.
func (l *serverLog) between() (d time.Duration, err error) {
	const few = 20
	if len(l.requests) < few {
		return 0, fmt.Errorf("the server counted %d requests", len(l.requests))
	}
	for i, h := range l.requests[1:] {
		last := l.requests[i]
		if h.started.Before(last.ended) {
			return 0, errors.New("two requests at the same time")
		}
		d = max(d, h.ended.Sub(last.ended))
	}
	return d, nil
}
