package loop

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestNapsOnlyWhereTheyAreCheap(t *testing.T) {
	fast := rv.Rate{Name: "r", ClosedLoop: true, Requests: 2000}
	for _, tt := range []struct {
		name    string
		rate    rv.Rate
		streams int
		after   time.Duration
		want    bool
	}{
		{"many in flight, long service", fast, 100, 5 * time.Millisecond, true},
		{"few in flight", fast, 10, 5 * time.Millisecond, false},
		{"short service", fast, 100, 100 * time.Microsecond, false},
		{"paced", perSecond(2000, time.Second), 100, 5 * time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(tt.rate)
			p.Targets[0].MaxConcurrentStreams = tt.streams
			n := 0
			b := newBench(t, p, func(*simRequest) reply {
				n++ // one response at a time
				return reply{status: 200, after: tt.after + time.Duration(n%100)*10*time.Microsecond}
			})
			if got := b.run(); got.Done != 2000 {
				t.Fatalf("got %+v", got)
			}
			if (b.naps > 0) != tt.want {
				t.Errorf("%d naps", b.naps)
			}
			// The first and the last of the run may be special; the bulk is not.
			if h := &b.w.rec.ServiceTime; tt.want && h.Quantile(0.5) > (tt.after+time.Millisecond).Microseconds()*33/32+20 {
				t.Errorf("naps made the median service time %d us", h.Quantile(0.5))
			}
		})
	}
}
