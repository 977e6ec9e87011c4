package tally

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/measure"
)

// TestSame: a recorder that is flushed at the end has the counts of one that is flushed after each request.
func TestSame(t *testing.T) {
	p := &chain.Program{Steps: make([]chain.Step, 2), Chains: make([]chain.Chain, 1), Targets: make([]rv.Target, 2)}
	p.Steps[1].Target = 1
	rates := []rv.Rate{{Name: "warm", WarmUp: true}, {Name: "a"}, {Name: "b"}}
	of := []rv.Selection{{Selector: rv.Selector{Stage: "b"}, Time: rv.MetricServiceTime}}
	one, all := New(p, rates, of), New(p, rates, of)
	random := rand.New(rand.NewPCG(1, 2))
	var q book.Request
	var down, now int64
	over, failed := false, ""
	for range 10_000 {
		switch random.IntN(24) { // mostly none: the same again
		case 0:
			q.Step = random.Int32N(2)
		case 1:
			q.Stage = int16(random.IntN(5)) - 2
		case 2:
			q.Status = 200 + int16(random.IntN(3))
		case 3:
			q.Due = random.Int64N(3000)
		case 4:
			q.Picked = 3000 + random.Int64N(3000)
		case 5:
			q.Sent = 6000 + random.Int64N(3000)
		case 6:
			q.First = 9000 + random.Int64N(3000)
		case 7:
			now = 12_000 + random.Int64N(3000)
		case 8:
			down = random.Int64N(2000)
		case 9:
			over = !over
		case 10:
			failed = []string{"", rv.CheckStatus, "mine"}[random.IntN(3)]
		case 11:
			q.Hop, q.Attempt = uint8(random.IntN(2)), uint8(random.IntN(2))
		case 12:
			q.Starts = !q.Starts
		}
		timedOut := random.IntN(50) == 0
		for _, r := range []*Recorder{&one, &all} {
			r.Sent(&q, over, over, down)
			if timedOut {
				r.Failed(&q, ByTimeout, failure.Cause{}, "", now)
			}
			r.Done(&q, failed, now)
		}
		one.Flush()
		one.sent, one.done = sameSent{}, sameDone{}
	}
	want, got := one.Swap(nil), all.Swap(nil)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(histogram.H{}, measure.Codes{}, measure.Names{}),
		cmpopts.IgnoreUnexported(failure.Counts{})); diff != "" {
		t.Errorf("(-each +at the end):\n%s", diff)
	}
	if want.Steps[0].Sent == 0 || want.Steps[0].FailedChecks == 0 || want.WarmUpSent == 0 ||
		want.Stages[1].SentInDrain == 0 {
		t.Errorf("counts %+v", want.Steps[0].Outcomes)
	}
}
