package loop

import (
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
	b.w.Do(func(w *Worker) { w.SetAuthorization(0, []byte("Bearer a")) })
	at := func(offset time.Duration, change func(*Worker)) {
		b.onStart = append(b.onStart, func() {
			b.in(time.Duration(b.startAt-b.clock)+offset, func() { b.w.Do(change) })
		})
	}
	at(300*ms, func(w *Worker) { w.SetAuthorization(0, []byte("Bearer b")) })
	at(600*ms, func(w *Worker) { w.Unauthorized(0, "the token endpoint does not answer") })
	at(700*ms, func(w *Worker) { w.SetAuthorization(0, []byte("Bearer c")) })
	got := b.run()
	if got.Sent != 1000 || got.Done != 1000 {
		t.Errorf("%d sent and %d done, want 1000", got.Sent, got.Done)
	}
	began := time.Duration(b.startAt)
	for i, r := range b.served {
		want := "Bearer a"
		switch offset := r.at - began; {
		case offset >= 700*ms:
			want = "Bearer c"
		case offset >= 600*ms:
			want = ""
		case offset >= 300*ms:
			want = "Bearer b"
		}
		if value, has := r.fields["authorization"]; value != want || has != (want != "") {
			t.Fatalf("request %d after %v has %q, want %q", i, r.at-began, value, want)
		}
	}
	if problem := b.w.Problem(); problem != "" {
		t.Errorf("problem %q of a worker that was ready", problem)
	}
}
