//go:build !race

package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
)

// TestWaitingRequestsTakeMemory: docs/operate/runbook.md says how much.
func TestWaitingRequestsTakeMemory(t *testing.T) {
	const n = 150_000
	p := gets(perSecond(n, time.Second))
	p.Drain = time.Minute
	p.Chains[0].Steps[0].Timeout = time.Minute
	b := newBench(t, p, func(*simRequest) reply { return reply{} }) // it never answers
	var took int64
	var inUse int
	b.onStart = append(b.onStart, func() {
		before := b.heap()
		b.in(1100*time.Millisecond, func() {
			inUse, took = b.w.requests.InUse(), b.heap()-before
			b.w.Do(func(w *Worker) { w.Stop(false) })
		})
	})
	b.run()
	if each := took / n; inUse != n || each > 420 || each < 300 {
		t.Errorf("each of %d requests that wait takes %d octets, want about 400", inUse, each)
	}
}

// unfinished is a peer that sends pieces of bodies.
type unfinished struct{ requests []*simRequest }

// pieces sends a piece of the body of each response.
func (u *unfinished) pieces(b *bench, from, to int, end bool) {
	for _, r := range u.requests[from:to] {
		_ = http2.NewFramer(&b.conns[r.Conn].Out, nil).WriteData(r.Stream, end, make([]byte, 16<<10))
	}
}

// TestBodiesHaveABudget: the bodies that a worker keeps take a limited part of the heap together. One that is cut fails the check
// maxBodyBytes, and those that follow are kept again.
func TestBodiesHaveABudget(t *testing.T) {
	const responses, pieces = 250, 128 // 2 MiB each
	p := gets(perSecond(responses, time.Second), rv.Rate{Name: "pause", Period: time.Second, Duration: 3 * time.Second}, perSecond(10, time.Second))
	p.Targets[0].Connections = 10
	s := &p.Chains[0].Steps[0]
	s.Timeout, s.MaxBody = time.Minute, 4<<20
	s.Expect.Checks = []rv.Check{{Name: "content", Source: &rv.Source{Kind: rv.SourceBody}, Match: &rv.Match{Op: rv.MatchExists, Want: lit("true")}}}
	var b *bench
	u := &unfinished{}
	b = newBench(t, p, func(r *simRequest) reply {
		if len(u.requests) == responses {
			return reply{After: time.Millisecond, Status: 200, Body: []byte("small")}
		}
		u.requests = append(u.requests, r)
		c := b.conns[r.Conn]
		c.Block.Reset()
		_ = c.Encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		_ = http2.NewFramer(&c.Out, nil).WriteHeaders(http2.HeadersFrameParam{StreamID: r.Stream, BlockFragment: c.Block.Bytes(), EndHeaders: true})
		return reply{}
	})
	var before, during int64
	b.onStart = append(b.onStart, func() {
		before = b.heap()
		for k := range pieces {
			for i := range 10 {
				b.in(1100*time.Millisecond+time.Duration(10*k+i)*time.Millisecond, func() { u.pieces(b, i*responses/10, (i+1)*responses/10, false) })
			}
		}
		b.in(2900*time.Millisecond, func() {
			during = b.heap()
			u.pieces(b, 0, responses, true)
		})
	})
	totals := b.run()
	if took := 100 * (during - before) / book.MaxBodies; took > 115 || took < 85 {
		t.Errorf("%d bodies of 2 MiB took %d%% of the limit, want 85 to 115%%", responses, took)
	}
	failed := b.w.rec.Steps[0].FailedBy.Counts()
	if n := failed[rv.CheckBody]; n == 0 || n == responses || totals.Succeeded != responses+10-n {
		t.Errorf("%+v, failed checks %v; want some of the large responses to fail, no small one", totals, failed)
	}
	if diff := cmp.Diff(int64(responses+10), totals.Done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}
