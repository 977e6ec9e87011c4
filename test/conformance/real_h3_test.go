//go:build conformance

package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// startAioquic starts the server of aioquic, which sends Retry, and returns a function that returns its count.
func startAioquic(t *testing.T, s *site) (count func() string) {
	t.Helper()
	s.runPython(t, "aioquic", "h3.py", fmt.Sprint(s.ports[0]), s.cert, s.key, s.dir+"/count")
	return s.awaitHTTP3(t)
}

// awaitHTTP3 waits until a server of HTTP/3 listens, and returns a function that returns its count.
func (s *site) awaitHTTP3(t *testing.T) (count func() string) {
	t.Helper()
	for range 200 {
		if strings.Contains(read(t, s.dir+"/log"), "listening") {
			return func() string { return read(t, s.dir+"/count") }
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the server does not listen: %s", read(t, s.dir+"/log"))
	return nil
}

func TestAioquic(t *testing.T) { runHTTP3Server(t, startAioquic) }

// runHTTP3Server sends requests to a server, which has those that the report has.
func runHTTP3Server(t *testing.T, start func(t *testing.T, s *site) (count func() string)) {
	for _, c := range []struct {
		name string
		edit func(p *rv.Plan)
		want rv.Outcomes
		// tried is how many requests the server gets; a rejected one is sent again once.
		tried int
	}{
		{"closed loop", func(*rv.Plan) {}, rv.Outcomes{Sent: 300, Succeeded: 300}, 300},
		{"at a rate", func(p *rv.Plan) { p.Rates[0] = rv.Rate{Name: "r", Count: 300, Period: time.Second, Requests: 300} },
			rv.Outcomes{Sent: 300, Succeeded: 300}, 300},
		{"HEAD", func(p *rv.Plan) { p.Chains[0].Steps[0].Method = http.MethodHead }, rv.Outcomes{Sent: 300, Succeeded: 300}, 300},
		{"bodies", func(p *rv.Plan) {
			p.Chains[0].Steps[0].Method, p.Chains[0].Steps[0].Body = http.MethodPost, text(strings.Repeat("b", 20_000))
		}, rv.Outcomes{Sent: 300, Succeeded: 300}, 300},
		{"rejected", func(p *rv.Plan) { p.Chains[0].Steps[0].Path = text("/reset") }, rv.Outcomes{Sent: 300, Reset: 300}, 600},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, time.Now().Add(time.Hour))
			count := start(t, s)
			p := s.through(door{rv.ProtocolH3, true, s.ports[0]}, 300)
			setTimeout(p, time.Minute) // the server is slow, and slower on a busy machine
			c.edit(p)
			got := mustExecute(t, p).Counters
			if got.Sent != c.want.Sent || got.Succeeded != c.want.Succeeded || got.Reset != c.want.Reset || count() != fmt.Sprint(c.tried) {
				t.Errorf("%+v, %d reset; the server has %s requests, want %d", got, got.Reset, count(), c.tried)
			}
		})
	}
}
