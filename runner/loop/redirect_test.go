package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/trial"
)

// redirectTo is a response that redirects a request.
func redirectTo(status int, location ...string) reply {
	r := reply{Status: status, After: time.Millisecond}
	for _, l := range location {
		r.Headers = append(r.Headers, "location", l)
	}
	return r
}

func TestRedirects(t *testing.T) {
	ok := reply{Status: 201, After: time.Millisecond, Headers: []string{"x", "last"}}
	for name, tt := range map[string]struct {
		change  func(*rv.Plan)
		replies map[string]reply
		slots   int64
		want    []string
		// counts are sent, succeeded, redirects, aborted chains.
		counts [4]int64
		failed string
	}{
		"to another path, with the same method, header fields and body": {
			replies: map[string]reply{"t /a": redirectTo(307, "/b?c=1")}, slots: 2,
			want:   []string{`t POST /a "v" "body"`, `t POST /b?c=1 "v" "body"`},
			counts: [4]int64{2, 2, 1, 0},
		},
		"permanently, to a relative reference": {
			replies: map[string]reply{"t /a": redirectTo(308, "../x/b")}, slots: 2,
			want:   []string{`t POST /a "v" "body"`, `t POST /x/b "v" "body"`},
			counts: [4]int64{2, 2, 1, 0},
		},
		"twice, the first Location counts": {
			replies: map[string]reply{"t /a": redirectTo(307, "/b", "/never"), "t /b": redirectTo(307, "c")}, slots: 3,
			want:   []string{`t POST /a "v" "body"`, `t POST /b "v" "body"`, `t POST /c "v" "body"`},
			counts: [4]int64{3, 3, 2, 0},
		},
		"in a circle": {
			replies: map[string]reply{"t /a": redirectTo(307, "/a")}, slots: 3,
			want:   []string{`t POST /a "v" "body"`, `t POST /a "v" "body"`, `t POST /a "v" "body"`},
			counts: [4]int64{3, 2, 2, 1}, failed: rv.CheckRedirect,
		},
		"without a Location": {
			replies: map[string]reply{"t /a": redirectTo(307)}, slots: 1,
			want: []string{`t POST /a "v" "body"`}, counts: [4]int64{1, 0, 0, 1}, failed: rv.CheckRedirect,
		},
		"without a Location, with a status that the step expects": {
			change: func(p *rv.Plan) {
				p.Chains[0].Steps[0].Expect.Status = []rv.StatusRange{{From: 200, To: 308}}
			},
			replies: map[string]reply{"t /a": redirectTo(308)}, slots: 1,
			want: []string{`t POST /a "v" "body"`}, counts: [4]int64{1, 0, 0, 1}, failed: rv.CheckRedirect,
		},
		"to another path, with a status that the step expects": {
			change: func(p *rv.Plan) {
				p.Chains[0].Steps[0].Expect.Status = []rv.StatusRange{{From: 200, To: 308}}
			},
			replies: map[string]reply{"t /a": redirectTo(307, "/b")}, slots: 2,
			want:   []string{`t POST /a "v" "body"`, `t POST /b "v" "body"`},
			counts: [4]int64{2, 2, 1, 0},
		},
		"to what is not a URI": {
			replies: map[string]reply{"t /a": redirectTo(307, "http://")}, slots: 1,
			want: []string{`t POST /a "v" "body"`}, counts: [4]int64{1, 0, 0, 1}, failed: rv.CheckRedirect,
		},
		"to an authority that the target does not follow": {
			replies: map[string]reply{"t /a": redirectTo(307, "http://other:81/a")}, slots: 1,
			want: []string{`t POST /a "v" "body"`}, counts: [4]int64{1, 0, 0, 1}, failed: rv.CheckRedirect,
		},
		"to an authority that the target follows": {
			change:  func(p *rv.Plan) { p.Targets[0].FollowAuthority = true },
			replies: map[string]reply{"t /a": redirectTo(307, "http://other:81/b"), "other:81 /b": redirectTo(307, "c")}, slots: 3,
			want:   []string{`t POST /a "v" "body"`, `other:81 POST /b "v" "body"`, `other:81 POST /c "v" "body"`},
			counts: [4]int64{3, 3, 2, 0},
		},
		"to TLS, which the target does not have": {
			change:  func(p *rv.Plan) { p.Targets[0].FollowAuthority = true },
			replies: map[string]reply{"t /a": redirectTo(307, "https://t/b")}, slots: 1,
			want: []string{`t POST /a "v" "body"`}, counts: [4]int64{1, 0, 0, 1}, failed: rv.CheckRedirect,
		},
		"with a status that may change the method": {
			replies: map[string]reply{"t /a": redirectTo(302, "/b")}, slots: 1,
			want: []string{`t POST /a "v" "body"`}, counts: [4]int64{1, 0, 0, 1}, failed: rv.CheckStatus,
		},
		"not wanted": {
			change:  func(p *rv.Plan) { p.Chains[0].Steps[0].MaxRedirects = 0 },
			replies: map[string]reply{"t /a": redirectTo(307, "/b")}, slots: 1,
			want: []string{`t POST /a "v" "body"`}, counts: [4]int64{1, 0, 0, 1}, failed: rv.CheckStatus,
		},
		"again after a failure, which a retry follows": {
			change:  func(p *rv.Plan) { p.Chains[0].Steps[0].OnFailure.Retries = 1 },
			replies: map[string]reply{"t /a": redirectTo(307, "/b"), "t /b": {Status: 500}}, slots: 4,
			want:   []string{`t POST /a "v" "body"`, `t POST /b "v" "body"`, `t POST /a "v" "body"`, `t POST /b "v" "body"`},
			counts: [4]int64{4, 2, 2, 1}, failed: rv.CheckStatus,
		},
		"of an inspected step": {
			change: func(p *rv.Plan) {
				p.Chains[0].Steps[0].Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceBody}}}
			},
			replies: map[string]reply{"t /a": redirectTo(307, "/b")}, slots: 2,
			want:   []string{`t POST /a "v" "body"`, `t POST /b "v" "body"`},
			counts: [4]int64{2, 2, 1, 0},
		},
		"of a step with a script": {
			change: func(p *rv.Plan) {
				p.Chains[0].Steps[0].Script = &rv.Script{Name: "s", Content: rv.Content{Text: `function on_request(req) req:set_header("x-sent", "lua") end`}}
			},
			replies: map[string]reply{"t /a": redirectTo(307, "/b")}, slots: 2,
			want:   []string{`t POST /a "lua" "body"`, `t POST /b "lua" "body"`},
			counts: [4]int64{2, 2, 1, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(every10ms(tt.slots), step("a", func(s *rv.Step) {
				s.Method, s.Body, s.MaxRedirects = "POST", lit("body"), 2
				s.Headers = []rv.Header{{Name: lit("x-sent"), Value: lit("v")}}
				s.Expect.Status = []rv.StatusRange{{From: 201, To: 201}}
				s.Capture = []rv.Capture{{Source: header("x")}}
			}))
			p.Chains[0].Captures = []string{"x"}
			if tt.change != nil {
				tt.change(p)
			}
			b := newBench(t, p, func(r *simRequest) reply {
				if got, found := tt.replies[r.Fields[":authority"]+" "+r.Fields[":path"]]; found {
					return got
				}
				return ok
			})
			got := b.run()
			var seen []string
			for _, r := range b.served {
				seen = append(seen, fmt.Sprintf("%s %s %s %q %q", r.Fields[":authority"], r.Fields[":method"], r.Fields[":path"], r.Fields["x-sent"], r.Body))
			}
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			s, c := &b.w.rec.Steps[0], &b.w.rec.Chains[0]
			if counts := [4]int64{got.Sent, got.Succeeded, s.Redirects, c.Aborted}; counts != tt.counts {
				t.Errorf("sent, succeeded, redirects, aborted: %v, want %v", counts, tt.counts)
			}
			if failed := s.FailedBy.Counts(); tt.failed != "" && failed[tt.failed] == 0 || tt.failed == "" && len(failed) > 0 {
				t.Errorf("failed %v, want %q", failed, tt.failed)
			}
		})
	}
}

// TestForwardedRedirects: a target that forwards requests gets the redirected request, too, with the origin of the new server
// in the field that names it.
func TestForwardedRedirects(t *testing.T) {
	const field = "3gpp-sbi-target-apiroot"
	at := func(origin string, location ...string) reply {
		r := redirectTo(307, location...)
		r.Headers = append([]string{field, origin}, r.Headers...)
		return r
	}
	behind := func(origin string, location ...string) reply {
		r := redirectTo(307, location...)
		r.Headers = append(r.Headers, field, origin)
		return r
	}
	for name, tt := range map[string]struct {
		change func(*rv.Step)
		// replies are those of the producers, by origin and path.
		replies map[string]reply
		want    []string
		failed  string
	}{
		"to another server": {
			replies: map[string]reply{"http://a.core /scp/n": redirectTo(308, "http://b.core:81/n/1?x=y")},
			want:    []string{"http://a.core /scp/n", "http://b.core:81 /scp/n/1?x=y"},
		},
		"to another scheme": {
			replies: map[string]reply{"http://a.core /scp/n": redirectTo(307, "https://a.core/n")},
			want:    []string{"http://a.core /scp/n", "https://a.core /scp/n"},
		},
		"to another server, and from there to another path": {
			replies: map[string]reply{"http://a.core /scp/n": redirectTo(307, "http://b.core/n"), "http://b.core /scp/n": redirectTo(307, "m")},
			want:    []string{"http://a.core /scp/n", "http://b.core /scp/n", "http://b.core /scp/m"},
		},
		"by the target to itself": {
			replies: map[string]reply{"http://a.core /scp/n": redirectTo(307, "http://T:80/scp/m")},
			want:    []string{"http://a.core /scp/n", "http://a.core /scp/m"},
		},
		"to a path of the same server": {
			replies: map[string]reply{"http://a.core /scp/n": redirectTo(307, "/scp/m")},
			want:    []string{"http://a.core /scp/n", "http://a.core /scp/m"},
		},
		"to a path of the server that the field names": {
			replies: map[string]reply{"http://a.core /scp/n": at("http://b.core/pre", "/scp/m")},
			want:    []string{"http://a.core /scp/n", "http://b.core/pre /scp/m"},
		},
		"to a path of the server that a later field names": {
			replies: map[string]reply{"http://a.core /scp/n": behind("http://b.core", "/scp/m")},
			want:    []string{"http://a.core /scp/n", "http://b.core /scp/m"},
		},
		"to the server of the Location, not of the field": {
			replies: map[string]reply{"http://a.core /scp/n": at("http://never", "http://b.core/n"), "http://b.core /scp/n": behind("http://never", "http://c.core/n")},
			want:    []string{"http://a.core /scp/n", "http://b.core /scp/n", "http://c.core /scp/n"},
		},
		"to the server that only the field names, without a Location": {
			replies: map[string]reply{"http://a.core /scp/n": at("http://b.core")},
			want:    []string{"http://a.core /scp/n"}, failed: rv.CheckRedirect,
		},
		"by a second proxy, which the runner does not connect to": {
			replies: map[string]reply{"http://a.core /scp/n": redirectTo(307, "http://a.core/n")},
			want:    []string{"http://a.core /scp/n", "http://a.core /scp/n", "http://a.core /scp/n"}, failed: rv.CheckRedirect,
		},
		"of a request without the field": {
			change:  func(s *rv.Step) { s.Headers = nil },
			replies: map[string]reply{" /scp/n": redirectTo(307, "http://b.core/n")},
			want:    []string{" /scp/n", "http://b.core /scp/n"},
		},
		"again after a failure, which a retry of the first request follows": {
			change:  func(s *rv.Step) { s.OnFailure.Retries = 1 },
			replies: map[string]reply{"http://a.core /scp/n": redirectTo(307, "http://b.core/n"), "http://b.core /scp/n": {Status: 500}},
			want:    []string{"http://a.core /scp/n", "http://b.core /scp/n", "http://a.core /scp/n", "http://b.core /scp/n"}, failed: rv.CheckStatus,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(every10ms(int64(len(tt.want))), step("n", func(s *rv.Step) {
				s.MaxRedirects, s.RedirectField = 2, field
				s.Headers = []rv.Header{{Name: lit("x-before"), Value: lit("v")}, {Name: lit(field), Value: lit("http://a.core")}, {Name: lit("x-after"), Value: lit("v")}}
				if tt.change != nil {
					tt.change(s)
				}
			}))
			p.Targets[0].Endpoints[0].BasePath = "/scp"
			b := newBench(t, p, func(r *simRequest) reply {
				if got, found := tt.replies[r.Fields[field]+" "+r.Fields[":path"]]; found {
					return got
				}
				return reply{Status: 200, After: time.Millisecond}
			})
			b.run()
			var seen []string
			for _, r := range b.served {
				if seen = append(seen, r.Fields[field]+" "+r.Fields[":path"]); tt.change == nil && r.Fields["x-before"]+r.Fields["x-after"] != "vv" {
					t.Errorf("other fields: %v", r.Fields)
				}
			}
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if failed := b.w.rec.Steps[0].FailedBy.Counts(); tt.failed != "" && failed[tt.failed] == 0 || tt.failed == "" && len(failed) > 0 {
				t.Errorf("failed %v, want %q", failed, tt.failed)
			}
		})
	}
}

// TestRedirectsInAGroup: each request of a group follows its own redirect.
func TestRedirectsInAGroup(t *testing.T) {
	follows := func(s *rv.Step) { s.Group, s.MaxRedirects = 1, 1 }
	p := steps(every10ms(5), step("a", follows), step("b", follows), step("c"))
	b := newBench(t, p, func(r *simRequest) reply {
		switch r.Fields[":path"] {
		case "/a", "/b":
			return redirectTo(307, r.Fields[":path"]+"/next")
		}
		return reply{Status: 200, After: time.Millisecond}
	})
	got := b.run()
	if diff := cmp.Diff([]string{"0 /a", "10 /b", "20 /a/next", "30 /b/next", "40 /c"}, b.trace()); diff != "" || got.Succeeded != 5 {
		t.Errorf("%+v, requests (-want +got):\n%s", got, diff)
	}
	if c := b.w.rec.Chains[0]; c.Completed != 1 {
		t.Errorf("chains %+v", c)
	}
}

// TestRedirectsCaptureNothing: a response that redirects changes no captured value, so the request that follows it has the same
// values.
func TestRedirectsCaptureNothing(t *testing.T) {
	for _, keep := range []bool{false, true} {
		p := steps(every10ms(3), step("a", func(s *rv.Step) {
			s.Capture = []rv.Capture{{Source: header("x")}}
		}), step("b", func(s *rv.Step) {
			s.MaxRedirects = 1
			s.Headers = []rv.Header{{Name: lit("x-sent"), Value: rv.Text{{Capture: 1}}}}
			s.Capture = []rv.Capture{{Source: header("x"), Keep: keep, Optional: !keep}}
		}))
		p.Chains[0].Captures = []string{"x"}
		b := newBench(t, p, func(r *simRequest) reply {
			switch r.Fields[":path"] {
			case "/a":
				return reply{Status: 200, Headers: []string{"x", "of-a"}}
			case "/b":
				return reply{Status: 307, Headers: []string{"x", "of-redirect", "location", "/c"}}
			}
			return reply{Status: 200}
		})
		b.run()
		var seen []string
		for _, r := range b.served {
			seen = append(seen, r.Fields[":path"]+" "+r.Fields["x-sent"])
		}
		if diff := cmp.Diff([]string{"/a ", "/b of-a", "/c of-a"}, seen); diff != "" {
			t.Errorf("keep %v: requests (-want +got):\n%s", keep, diff)
		}
		want := ""
		if keep {
			want = "of-a"
		}
		if got := string(b.w.flow.At(0).Captured(0)); got != want {
			t.Errorf("keep %v: captured %q, want %q", keep, got, want)
		}
	}
}

// TestCookiesOfRedirects: the request that follows a redirect has the cookies that the redirect set, and those for its own path.
func TestCookiesOfRedirects(t *testing.T) {
	p := steps(every10ms(3), step("a"), step("b", func(s *rv.Step) { s.MaxRedirects, s.ClearCookies = 1, true }))
	p.Chains[0].Cookies = true
	b := newBench(t, p, func(r *simRequest) reply {
		switch r.Fields[":path"] {
		case "/a":
			return reply{Status: 200, Headers: []string{"set-cookie", "old=1; Path=/"}}
		case "/b":
			return reply{Status: 307, Headers: []string{"set-cookie", "all=2; Path=/", "set-cookie", "b=3; Path=/b", "set-cookie", "c=4; Path=/c", "location", "/c"}}
		}
		return reply{Status: 200}
	})
	b.run()
	var got []string
	for _, r := range b.served {
		got = append(got, r.Fields[":path"]+" "+r.Fields["cookie"])
	}
	if diff := cmp.Diff([]string{"/a ", "/b ", "/c c=4; all=2"}, got); diff != "" {
		t.Errorf("cookies (-want +got):\n%s", diff)
	}
}

// TestSecretsOfRedirects: a request that a redirect sends to another origin has no field with a secret of the user any more, also not after a
// redirect back. The target's own credentials and the cookies of the instance follow their own rules.
func TestSecretsOfRedirects(t *testing.T) {
	away, back := redirectTo(307, "http://other:81/b"), redirectTo(307, "http://t/c")
	for name, tt := range map[string]struct {
		change  func(*rv.Plan)
		replies map[string]reply
		// want are the requests with the names of their secret fields.
		want []string
	}{
		"to a path of the target": {
			replies: map[string]reply{"t /a": redirectTo(307, "/b")},
			want:    []string{"t /a authorization cookie proxy-authorization", "t /b authorization cookie proxy-authorization"},
		},
		"to another URL of the target": {
			change: func(p *rv.Plan) {
				p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: "other:81", Address: "other:81"})
			},
			replies: map[string]reply{"t /a": away},
			want:    []string{"t /a authorization cookie proxy-authorization", "t /b authorization cookie proxy-authorization"},
		},
		"to another origin": {
			replies: map[string]reply{"t /a": away}, want: []string{"t /a authorization cookie proxy-authorization", "other:81 /b"},
		},
		"to another port": {
			replies: map[string]reply{"t /a": redirectTo(307, "http://t:81/b")}, want: []string{"t /a authorization cookie proxy-authorization", "t:81 /b"},
		},
		"to another origin, and on": {
			replies: map[string]reply{"t /a": away, "other:81 /b": redirectTo(308, "c")},
			want:    []string{"t /a authorization cookie proxy-authorization", "other:81 /b", "other:81 /c"},
		},
		"to another origin, and back": {
			replies: map[string]reply{"t /a": away, "other:81 /b": back},
			want:    []string{"t /a authorization cookie proxy-authorization", "other:81 /b", "t /c"},
		},
		"again by a retry": {
			change:  func(p *rv.Plan) { p.Chains[0].Steps[0].OnFailure.Retries = 1 },
			replies: map[string]reply{"t /a": away, "other:81 /b": {Status: 500}},
			want: []string{"t /a authorization cookie proxy-authorization", "other:81 /b",
				"t /a authorization cookie proxy-authorization", "other:81 /b"},
		},
		"behind the target": {
			change: func(p *rv.Plan) {
				p.Chains[0].Steps[0].RedirectField = "apiroot"
			},
			replies: map[string]reply{"t /a": away},
			want:    []string{"t /a authorization cookie proxy-authorization", "t /b authorization cookie proxy-authorization"},
		},
		"set by a script": {
			change: func(p *rv.Plan) {
				s := &p.Chains[0].Steps[0]
				s.Headers = nil
				s.Script = &rv.Script{Name: "s", Content: rv.Content{Text: `function on_request(req) req:set_header("Authorization", "lua") end`}}
			},
			replies: map[string]reply{"t /a": away}, want: []string{"t /a authorization", "other:81 /b"},
		},
		"with a token of the target": {
			change:  withToken(false),
			replies: map[string]reply{"t /a": away, "other:81 /b": back}, want: []string{"t /a authorization", "other:81 /b", "t /c authorization"},
		},
		"with a token of the target, which follows": {
			change:  withToken(true),
			replies: map[string]reply{"t /a": away}, want: []string{"t /a authorization", "other:81 /b authorization"},
		},
		"with cookies of the responses": {
			change: func(p *rv.Plan) { p.Chains[0].Cookies = true },
			replies: map[string]reply{
				"t /a":        {Status: 307, Headers: []string{"set-cookie", "x=1; Path=/", "location", "http://other:81/b"}},
				"other:81 /b": {Status: 307, Headers: []string{"set-cookie", "y=2; Path=/", "location", "http://other:81/c"}},
			},
			want: []string{"t /a authorization cookie proxy-authorization", "other:81 /b", "other:81 /c cookie=y=2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(every10ms(int64(len(tt.want))), step("a", func(s *rv.Step) {
				s.MaxRedirects = 2
				for _, name := range []string{"Authorization", "x-sent", "Cookie", "Proxy-Authorization"} {
					s.Headers = append(s.Headers, rv.Header{Name: lit(name), Value: lit("user=s")})
				}
			}))
			p.Targets[0].FollowAuthority = true
			if tt.change != nil {
				tt.change(p)
			}
			b := newBench(t, p, func(r *simRequest) reply {
				if got, found := tt.replies[r.Fields[":authority"]+" "+r.Fields[":path"]]; found {
					return got
				}
				return reply{Status: 200, After: time.Millisecond}
			})
			b.w.Do(func(w *Worker) { w.SetCredential(0, []byte("user=s")) })
			b.run()
			var seen []string
			for _, r := range b.served {
				s := r.Fields[":authority"] + " " + r.Fields[":path"]
				for _, name := range []string{"authorization", "cookie", "proxy-authorization"} {
					switch v := r.Fields[name]; {
					case v == "":
					case name == "cookie" && !strings.Contains(v, "user"):
						s += " " + name + "=" + v
					default:
						s += " " + name
					}
				}
				if len(p.Chains[0].Steps[0].Headers) > 0 && r.Fields["x-sent"] != "user=s" {
					s += " without x-sent"
				}
				seen = append(seen, s)
			}
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// withToken gives the target a token. It follows to other authorities if follows is true.
func withToken(follows bool) func(*rv.Plan) {
	return func(p *rv.Plan) {
		p.Targets[0].Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: "/token"}}
		p.Targets[0].FollowWithCredentials, p.Chains[0].Steps[0].Headers = follows, nil
	}
}

// TestTrialShowsRedirects: a trial shows the response that redirects, without checks, and the one that follows.
func TestTrialShowsRedirects(t *testing.T) {
	var got []string
	p := steps(every10ms(2), step("a", func(s *rv.Step) { s.MaxRedirects = 1 }))
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":path"] == "/a" {
			return redirectTo(307, "/b")
		}
		return redirectTo(308, "/c")
	})
	b.w.cfg.Program.InspectAll(1 << 10)
	show(b.w, func(e *trial.Exchange) {
		got = append(got, fmt.Sprintf("%s %d %v %d findings, failed %q", e.Request.Path, e.Response.Status, e.Redirected, len(e.Findings), e.Failed))
	})
	b.run()
	want := []string{`/a 307 true 0 findings, failed ""`, `/b 308 false 1 findings, failed "maxRedirects"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
}

// TestNamedAuthority: a request goes to the host and port that an earlier response named, without the base path of the target.
func TestNamedAuthority(t *testing.T) {
	for name, tt := range map[string]struct {
		host, port string
		want       string
		aborted    int64
	}{
		"another server":           {"Other", "81", "Other:81 /x", 0},
		"an IPv6 address":          {"[::1]", "81", "[::1]:81 /x", 0},
		"the target":               {"t", "80", "t /x", 0},
		"not a host":               {"a b", "81", "", 1},
		"a line end":               {"a\r\nx: y", "81", "", 1},
		"a user":                   {"me@other", "81", "", 1},
		"a path":                   {"other/path", "81", "", 1},
		"not a port":               {"other", "http", "", 1},
		"a port that is too large": {"other", "65536", "", 1},
		"nothing":                  {"", "81", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(every10ms(2), step("discover", func(s *rv.Step) {
				s.Capture = []rv.Capture{
					{Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/host"}}, {Slot: 1, Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/port"}},
				}
			}), step("x", func(s *rv.Step) { s.Authority = rv.Text{{Capture: 1}, {Literal: ":"}, {Capture: 2}} }))
			p.Chains[0].Captures = []string{"host", "port"}
			p.Targets[0].FollowAuthority = true
			p.Targets[0].Endpoints[0].BasePath = "/base"
			b := newBench(t, p, func(*simRequest) reply {
				body, _ := json.Marshal(map[string]string{"host": tt.host, "port": tt.port})
				return reply{Status: 200, Body: body}
			})
			b.run()
			got := ""
			if len(b.served) > 1 && b.served[1].Fields[":path"] != "/base/discover" {
				got = b.served[1].Fields[":authority"] + " " + b.served[1].Fields[":path"]
			}
			if got != tt.want || b.w.rec.Chains[0].AbortedBy.Counts()[rv.AbortLocation] < tt.aborted {
				t.Errorf("second request %q, want %q; aborted %v", got, tt.want, b.w.rec.Chains[0].AbortedBy.Counts())
			}
		})
	}
	p := steps(every10ms(1), step("x", func(s *rv.Step) { s.Authority = lit("other") }))
	if _, err := chain.Load(p, chain.Resources{}); err == nil {
		t.Error("a target that follows no authority has a request that names one")
	}
}
