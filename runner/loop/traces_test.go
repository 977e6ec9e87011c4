package loop

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// traced is gets with a traceparent.
func traced(ratio float64, rates ...rv.Rate) *rv.Plan {
	p := gets(rates...)
	t := &rv.Traceparent{Ratio: ratio}
	p.Variables = []rv.Variable{{Name: t.Name(), Scope: rv.ScopeStep, Traceparent: t}}
	p.Chains[0].Steps[0].Headers = []rv.Header{{Name: rv.Text{{Literal: "traceparent"}}, Value: rv.Text{{Variable: 1}}}}
	return p
}

// traceOfRequest reads the traceparent that a peer got.
func traceOfRequest(t *testing.T, r *simRequest) rv.Trace {
	t.Helper()
	value := r.Fields["traceparent"]
	if len(value) != 55 {
		t.Fatalf("traceparent %q", value)
	}
	return rv.Trace{TraceID: value[3:35], TraceSampled: strings.HasSuffix(value, "01")}
}

// TestSlowestRequests: the slowest of the sampled requests are kept, with the trace ids that the peer got.
func TestSlowestRequests(t *testing.T) {
	for _, ratio := range []float64{0, 0.2, 1} {
		random := rand.New(rand.NewPCG(3, uint64(10*ratio)))
		type one struct {
			trace rv.Trace
			after time.Duration
		}
		var all []one
		b := newBench(t, traced(ratio, perSecond(100, 5*time.Second)), nil)
		b.serve = func(r *simRequest) reply {
			o := one{traceOfRequest(t, r), time.Duration(random.Int64N(int64(500 * time.Millisecond)))}
			all = append(all, o)
			return reply{Status: 200, After: o.after}
		}
		b.run()
		slices.SortFunc(all, func(x, y one) int {
			if x.trace.TraceSampled != y.trace.TraceSampled {
				if x.trace.TraceSampled {
					return -1
				}
				return 1
			}
			return int(y.after - x.after)
		})
		got := b.w.Read().Slowest
		if len(got) != rv.MaxSlowest {
			t.Fatalf("ratio %v: %d requests", ratio, len(got))
		}
		for _, want := range all[:rv.MaxSlowest] {
			i := slices.IndexFunc(got, func(s rv.SlowRequest) bool { return s.Trace == want.trace })
			if i < 0 {
				t.Fatalf("ratio %v: %+v is missing in %+v", ratio, want, got)
			}
			s := got[i]
			if late := s.ResponseTime - want.after.Microseconds(); late < 0 || late > 3000 || s.Chain != "c" || s.Step != "get" || s.Status != 200 {
				t.Errorf("ratio %v: %+v, want %+v", ratio, s, want)
			}
		}
	}
}

// TestTracesOfFailures: samples have the trace ids that the peer got, of requests without a response too, and prefer
// those with the sampled flag.
func TestTracesOfFailures(t *testing.T) {
	sent := map[string]bool{}
	n := 0
	p := traced(0.2, perSecond(100, 3*time.Second))
	b := newBench(t, p, func(r *simRequest) reply {
		trace := traceOfRequest(t, r)
		sent[trace.TraceID] = trace.TraceSampled
		switch n++; n % 4 {
		case 0:
			return reply{Status: 503, Body: []byte("busy")}
		case 1:
			return reply{} // no answer
		case 2:
			return reply{Resets: true, Reset: 2}
		}
		return reply{Status: 200}
	})
	b.run()
	got := map[string]int{}
	for _, s := range b.w.Read().Samples {
		if sampled, known := sent[s.TraceID]; !known || sampled != s.TraceSampled || !s.TraceSampled {
			t.Errorf("%+v: sent %t, sampled %t", s, known, sampled)
		}
		got[s.Check+s.Outcome]++
		if s.Check == rv.CheckStatus && s.Body != "busy" {
			t.Errorf("body %q", s.Body)
		}
	}
	for _, what := range []string{rv.CheckStatus, rv.AbortTimedOut, rv.AbortReset} {
		if got[what] != rv.MaxSamplesAlike {
			t.Errorf("%d samples of %s", got[what], what)
		}
	}
}

// TestNoTraces: without a traceparent, requests without a response have no samples.
func TestNoTraces(t *testing.T) {
	b := newBench(t, gets(perSecond(10, time.Second)), func(*simRequest) reply { return reply{} })
	b.run()
	if len(b.w.Read().Samples)+len(b.w.Read().Slowest) > 0 {
		t.Errorf("samples %+v, slowest %+v", b.w.Read().Samples, b.w.Read().Slowest)
	}
}

// TestARequestThatIsSentAgainKeepsItsTrace also over a new connection.
func TestARequestThatIsSentAgainKeepsItsTrace(t *testing.T) {
	times := map[string]int{}
	n := 0
	b := newBench(t, traced(1, perSecond(10, 2*time.Second)), func(r *simRequest) reply {
		times[traceOfRequest(t, r).TraceID]++
		if n++; n == 5 {
			return reply{Goaway: true}
		}
		return reply{Status: 200}
	})
	b.run()
	twice := 0
	for _, k := range times {
		if k > 1 {
			twice++
		}
	}
	if len(times) != 20 || twice != 1 {
		t.Errorf("%d traces, %d of them sent twice", len(times), twice)
	}
}
