package collect

import (
	"slices"
	"testing"
	"time"

	"github.com/h2surge/h2surge/controllers/internal/record"
)

// TestNoAnswerBeforeTheEnd: while the end of the load is not known, runners are lost only after a stop.
func TestNoAnswerBeforeTheEnd(t *testing.T) {
	for name, change := range map[string]func(f *fleet){
		"a stage ends by requests": func(f *fleet) {
			f.plan.Rates[0].Duration = 2 * time.Hour
			plan := *f.plan
			plan.Rates = slices.Clone(plan.Rates)
			plan.Rates[0].Duration, plan.Rates[0].Requests = 0, 7_200_000
			f.desired.Plan = &plan
		},
		"suspended": func(f *fleet) {
			f.plan.Rates[0].Duration, f.plan.Deadline = 5*time.Minute, 6*time.Minute
			f.stored.Live = record.Live{Generation: 2, Rates: record.RatesOf(f.plan.Rates), Suspended: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 2, func(t *testing.T, f *fleet) {
				f.desired.Retention = 10 * time.Second
				change(f)
				f.run()
				f.wait(10 * time.Second)
				for _, r := range f.runners {
					r.Silence()
				}
				if v := f.wait(62 * time.Minute); len(losses(v)) != 0 {
					t.Fatalf("losses: %v", losses(v))
				}
				f.stored.Stop = &record.Stop{Reason: "spec.stop"}
				if v := f.wait(70 * time.Second); len(losses(v)) != 2 || !v.Over() {
					t.Errorf("losses after a stop: %v, over %v", losses(v), v.Over())
				}
			})
		})
	}
}
