package loop

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/slots"
)

// TestStall: a number of requests without a duration ends also when they can never be sent, and only then.
func TestStall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plan  func(*rv.Plan)
		serve func(b *bench, r *simRequest) reply
		// want is part of the reason; "": the run sends all its requests.
		want string
	}{
		{"the target is gone", nil, func(b *bench, _ *simRequest) reply {
			b.down[0] = len(b.served) >= 5
			return reply{HangUp: b.down[0], Status: 200}
		}, "no connection was open: the connection was refused"},
		{"no streams are allowed", nil, func(b *bench, _ *simRequest) reply {
			if len(b.served) == 5 {
				fr := http2.NewFramer(&b.conns[0].Out, nil)
				_ = fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			}
			return reply{Status: 200}
		}, "no request was answered"},
		{"GOAWAY in a loop", nil, func(b *bench, _ *simRequest) reply { return reply{Goaway: len(b.served) > 5, Status: 200} }, ""},
		{"every request is lost", nil, func(b *bench, _ *simRequest) reply { return reply{HangUp: len(b.served) > 5, Status: 200} }, "closed"},
		{"slow, but answered", func(p *rv.Plan) { p.Targets[0].MaxConcurrentStreams = 1 }, func(*bench, *simRequest) reply {
			return reply{Status: 200, After: 900 * time.Millisecond}
		}, ""},
		{"every request times out", nil, func(*bench, *simRequest) reply { return reply{} }, ""},
		{"long think time", func(p *rv.Plan) {
			p.Chains[0].MaxInFlight = 1
			second := p.Chains[0].Steps[0]
			second.Name, second.Think = "later", &rv.Think{Min: time.Minute, Max: time.Minute}
			p.Chains[0].Steps = append(p.Chains[0].Steps, second)
		}, func(*bench, *simRequest) reply { return reply{Status: 200} }, ""},
		{"think time below the limit, and then a slow answer", func(p *rv.Plan) {
			p.Chains[0].MaxInFlight = 1
			second := p.Chains[0].Steps[0]
			second.Name, second.Think = "later", &rv.Think{Min: 1900 * time.Millisecond, Max: 1900 * time.Millisecond}
			p.Chains[0].Steps = append(p.Chains[0].Steps, second)
		}, func(*bench, *simRequest) reply { return reply{Status: 200, After: 500 * time.Millisecond} }, ""},
		{"the lease pauses", nil, func(b *bench, _ *simRequest) reply {
			if len(b.served) == 5 {
				b.w.cfg.Lease.Set(b.clock)
				b.in(10*time.Second, func() { b.w.cfg.Lease.Renew(b.clock+int64(time.Hour), b.clock); b.w.Do(func(*Worker) {}) })
			}
			return reply{Status: 200, After: time.Millisecond}
		}, ""},
		{"with a duration", func(p *rv.Plan) { p.Rates[0].Duration = 10 * time.Second }, func(b *bench, _ *simRequest) reply {
			b.down[0] = true
			return reply{HangUp: true}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(rv.Rate{Name: "r", ClosedLoop: true, Requests: 40})
			p.Targets[0].MaxConcurrentStreams = 2
			if tt.plan != nil {
				tt.plan(p)
			}
			var b *bench
			b = newBench(t, p, func(r *simRequest) reply { return tt.serve(b, r) })
			b.down = map[int]bool{}
			b.w.cfg.Lease = &slots.Lease{}
			got := b.run()
			why := b.w.Stalled()
			if (why == "") != (tt.want == "") || !strings.Contains(why, tt.want) {
				t.Errorf("stalled %q, want %q: %+v", why, tt.want, got)
			}
			// The longest timeout and the connect timeout are a second each; then comes the drain.
			if after := time.Duration(b.clock - b.w.requests.ProgressAt()); tt.want != "" && after > 4*time.Second {
				t.Errorf("ended %v after the last progress", after)
			}
			if tt.want == "" && tt.name != "with a duration" && got.Sent != 40 {
				t.Errorf("got %+v", got)
			}
		})
	}
}
