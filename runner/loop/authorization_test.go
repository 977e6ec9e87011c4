package loop

import (
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestTokenExpires checks that a token is replaced and removed while the load runs: each request has the value that is
// valid when it is sent, no request is lost, and an expired value is not sent.
func TestTokenExpires(t *testing.T) {
	const ms = time.Millisecond
	p := gets(perSecond(1000, time.Second))
	p.Targets[0].Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: "/token"}}
	b := newBench(t, p, ok(time.Millisecond))
	b.w.Do(func(w *Worker) { w.SetCredential(0, []byte("Bearer a")) })
	at := func(offset time.Duration, change func(*Worker)) {
		b.onStart = append(b.onStart, func() {
			b.in(time.Duration(b.startAt-b.clock)+offset, func() { b.w.Do(change) })
		})
	}
	at(300*ms, func(w *Worker) { w.SetCredential(0, []byte("Bearer b")) })
	at(600*ms, func(w *Worker) { w.Unauthorized(0, "the token endpoint does not answer") })
	at(700*ms, func(w *Worker) { w.SetCredential(0, []byte("Bearer c")) })
	got := b.run()
	if got.Sent != 1000 || got.Done != 1000 {
		t.Errorf("%d sent and %d done, want 1000", got.Sent, got.Done)
	}
	began := time.Duration(b.startAt)
	for i, r := range b.served {
		want := "Bearer a"
		switch offset := r.At - began; {
		case offset >= 700*ms:
			want = "Bearer c"
		case offset >= 600*ms:
			want = ""
		case offset >= 300*ms:
			want = "Bearer b"
		}
		if value, has := r.Fields["authorization"]; value != want || has != (want != "") {
			t.Fatalf("request %d after %v has %q, want %q", i, r.At-began, value, want)
		}
	}
	if n := b.w.rec.Targets[0].SentWithout; n != 100 {
		t.Errorf("%d requests count as sent without authorization, want 100", n)
	}
	if problem := b.w.Read().Message; problem != "" {
		t.Errorf("problem %q of a worker that was ready", problem)
	}
}

// TestWhyUnauthorized: the worker reports the error of a credential that has no value, not that of one that has its next value.
func TestWhyUnauthorized(t *testing.T) {
	p := gets(perSecond(1, time.Second))
	p.Targets = append(p.Targets, p.Targets[0])
	for i := range p.Targets {
		p.Targets[i].Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: "/token"}}
	}
	w := newBench(t, p, ok(time.Millisecond)).w
	w.Unauthorized(0, "the first one is refused")
	w.Unauthorized(1, "the second one is refused")
	w.SetCredential(1, []byte("b"))
	if why := w.Read().Message; why != "the first one is refused" {
		t.Errorf("before the load: %s", why)
	}
	w.SetCredential(0, []byte("a"))
	if why := w.Read().Lapsed; why != "" {
		t.Errorf("with both: %s", why)
	}
	w.Unauthorized(0, "the first one has expired")
	w.Unauthorized(1, "the second one has expired")
	w.SetCredential(1, []byte("c"))
	if why := w.Read().Lapsed; why != "the first one has expired" {
		t.Errorf("after the first one has expired: %s", why)
	}
}

// TestAuthorizing: the worker asks for a token when the next setup chain sends it, or after setup. It sends nothing
// before it has the token, and is Authorizing.
func TestAuthorizing(t *testing.T) {
	token := &rv.Auth{OAuth2: &rv.OAuth2{TokenURL: "http://nrf/token"}}
	own := []rv.Header{{Name: rv.Text{{Literal: "authorization"}}, Value: rv.Text{{Literal: "own"}}}}
	setup := func(name string, headers ...rv.Header) rv.Chain {
		return rv.Chain{Name: name, Phase: rv.PhaseSetup, Steps: []rv.Step{{Name: name, Method: "PUT", Path: rv.Text{{Literal: "/" + name}}, Headers: headers, Timeout: time.Second}}}
	}
	for _, tc := range []struct {
		name   string
		auth   *rv.Auth
		setup  []rv.Chain
		served string // before the worker was Authorizing, and then all
	}{
		{"no setup", token, nil, ", then / a"},
		{"the load sends it", token, []rv.Chain{setup("register", own...), setup("other", own...)}, "/register own, /other own, then / a"},
		{"the second chain sends it", token, []rv.Chain{setup("register", own...), setup("subscribe")}, "/register own, then /subscribe a, / a"},
		{"the first chain sends it", token, []rv.Chain{setup("subscribe"), setup("other", own...)}, ", then /subscribe a, /other own, / a"},
		{"a file is read before", &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: "/token"}}, []rv.Chain{setup("register", own...)}, ", then /register own, / a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := gets(perSecond(1, time.Second))
			p.Targets[0].Auth, p.Chains = tc.auth, append(tc.setup, p.Chains...)
			b := newBench(t, p, ok(time.Millisecond))
			served := func() string {
				var all []string
				for _, r := range b.served {
					all = append(all, r.Fields[":path"]+" "+r.Fields["authorization"])
				}
				return strings.Join(all, ", ")
			}
			before := "it never was Authorizing"
			b.everyTurn = func() {
				if b.w.Phase() != Authorizing || before != "it never was Authorizing" {
					return
				}
				before = served()
				b.w.Do(func(w *Worker) { w.Unauthorized(0, "refused") })
				b.in(time.Second, func() {
					if r := b.w.Read(); r.Problem != rv.ProblemAuthorization || r.Message != "refused" || served() != before || len(b.w.Awaited()) != 1 {
						t.Errorf("after a second: problem %s %s, served %s", r.Problem, r.Message, served())
					}
					b.w.Do(func(w *Worker) { w.SetCredential(0, []byte("a")) })
				})
			}
			b.run()
			got := before + ", then " + strings.TrimPrefix(strings.TrimPrefix(served(), before), ", ")
			if got != tc.served {
				t.Errorf("served %s\nwant %s", got, tc.served)
			}
		})
	}
}
