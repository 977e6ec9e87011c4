package loop

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/h2"
)

// TestRetryAtAnotherEndpoint: a request that is sent again has the authority, the base path and the cookies of the endpoint that it is sent to,
// however it is rendered.
func TestRetryAtAnotherEndpoint(t *testing.T) {
	script := func(text string) func(*rv.Plan) {
		return func(p *rv.Plan) { p.Chains[0].Steps[0].Script = &rv.Script{Name: "s", Content: rv.Content{Text: text}} }
	}
	for name, tt := range map[string]struct {
		change func(*rv.Plan)
		// replies are those of the first endpoint, by path. It hangs up at all other requests.
		replies map[string]reply
		want    []string
		// lost is the number of requests whose script failed.
		lost int64
	}{
		"from prepared fields": {want: []string{"one /1/a", "two /2/a"}},
		"with a script":        {change: script(`function on_request(req) end`), want: []string{"one /1/a", "two /2/a"}},
		"with a script that signs the path": {
			change: script(`function on_request(req) req:set_header("x-sent", req.path) end`),
			want:   []string{"one /1/a /1/a", "two /2/a /2/a"},
		},
		"with a script that sets the path": {
			change: script(`function on_request(req) req.path = "/own" end`), want: []string{"one /own", "two /own"},
		},
		"with a script that fails the second time": {
			change: script(`local n = 0 function on_request(req) n = n + 1 if n > 1 then error("again") end end`), want: []string{"one /1/a"}, lost: 1,
		},
		"with a capture of the request": {
			change: func(p *rv.Plan) {
				p.Chains[0].Captures = []string{"sent"}
				p.Chains[0].Steps[0].Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceRequestPath}}}
			},
			want: []string{"one /1/a", "two /2/a"},
		},
		"after a redirect": {
			replies: map[string]reply{"/1/a": redirectTo(307, "/b")}, want: []string{"one /1/a", "one /b", "two /b"},
		},
		"after a redirect to a server behind the target": {
			change:  func(p *rv.Plan) { p.Chains[0].Steps[0].RedirectField = "apiroot" },
			replies: map[string]reply{"/1/a": redirectTo(307, "http://behind/b")}, want: []string{"one /1/a", "one /1/b", "two /2/b"},
		},
		"with a cookie of the first endpoint": {
			change:  func(p *rv.Plan) { p.Chains[0].Cookies = true },
			replies: map[string]reply{"/1/a": {Status: 307, Headers: []string{"set-cookie", "of=one; Path=/", "location", "/b"}}},
			want:    []string{"one /1/a", "one /b of=one", "two /b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(every10ms(int64(1+len(tt.replies))), step("a", func(s *rv.Step) { s.MaxRedirects = 1 }))
			p.Targets[0].Endpoints = []rv.Endpoint{
				{Scheme: "http", Authority: "one", Address: "one:80", BasePath: "/1"}, {Scheme: "http", Authority: "two", Address: "two:80", BasePath: "/2"},
			}
			if tt.change != nil {
				tt.change(p)
			}
			var b *bench
			b = newBench(t, p, func(r *simRequest) reply {
				c := b.conns[r.Conn]
				if c.endpoint == 1 {
					return reply{Status: 200}
				}
				if got, found := tt.replies[r.Fields[":path"]]; found {
					return got
				}
				b.down = map[int]bool{0: true}
				c.Out.Write(h2.AppendGoAway(nil, r.Stream-1, http2.ErrCodeNo, ""))
				return reply{}
			})
			b.run()
			if got := causesOf(b)[rv.Failure{Of: rv.FailureConnectionLost, Cause: rv.CauseScript, Detail: "s:1: again", Address: "two:80"}]; got != tt.lost {
				t.Errorf("failures %v, want %d by a script", causesOf(b), tt.lost)
			}
			var seen []string
			for _, r := range b.served {
				s := fmt.Sprintf("%s %s", r.Fields[":authority"], r.Fields[":path"])
				for _, name := range []string{"x-sent", "cookie"} {
					if v := r.Fields[name]; v != "" {
						s += " " + v
					}
				}
				seen = append(seen, s)
			}
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
