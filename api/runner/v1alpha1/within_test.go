package v1alpha1

import (
	"math"
	"testing"
	"time"
)

func TestSetupWithin(t *testing.T) {
	const s, h = time.Second, time.Hour
	step := func(timeout time.Duration, changes ...func(*Step)) Step {
		out := Step{Timeout: timeout}
		for _, f := range changes {
			f(&out)
		}
		return out
	}
	repeat := func(n int) func(*Step) { return func(s *Step) { s.Repeat = n } }
	think := func(t Think) func(*Step) { return func(s *Step) { s.Think = &t } }
	retry := func(n int, backoff, most time.Duration) func(*Step) {
		return func(s *Step) { s.OnFailure = OnFailure{Retries: n, Backoff: backoff, MaxBackoff: most} }
	}
	setup := func(steps ...Step) Chain { return Chain{Phase: PhaseSetup, Steps: steps} }
	for _, tt := range []struct {
		name   string
		chains []Chain
		want   time.Duration
	}{
		{"no chains", nil, 0},
		{"no setup chains", []Chain{{Steps: []Step{step(s)}}, {Phase: PhaseTeardown, Steps: []Step{step(s)}}}, 0},
		{"one after another", []Chain{setup(step(2*s), step(3*s)), setup(step(5 * s))}, 10 * s},
		{"once is once", []Chain{setup(step(2*s, repeat(0))), setup(step(2*s, repeat(1)))}, 4 * s},
		{"repeated", []Chain{setup(step(2*s, repeat(7)))}, 14 * s},
		{"fixed think time, each time", []Chain{setup(step(2*s, think(Think{Fixed: s}), repeat(3)))}, 9 * s},
		{"random think time", []Chain{setup(step(2*s, think(Think{Min: s, Max: 4 * s})))}, 6 * s},
		{"exponential think time", []Chain{setup(step(2*s, think(Think{Mean: s, Max: 10 * s})))}, 12 * s},
		{"retries without backoff", []Chain{setup(step(2*s, retry(3, 0, 0)))}, 8 * s},
		{"backoff doubles up to its bound", []Chain{setup(step(s, retry(4, s, 3*s)))}, 5*s + (1+2+3+3)*s},
		{"all at once", []Chain{setup(step(s, think(Think{Fixed: s}), retry(1, 2*s, 2*s), repeat(2)))}, 2 * (1 + 2 + 2) * s},
		{"at the bound", []Chain{setup(step(h))}, h},
		{"chains beyond the bound", []Chain{setup(step(40 * time.Minute)), setup(step(40 * time.Minute))}, h},
		{"steps beyond the bound", []Chain{setup(step(40*time.Minute), step(40*time.Minute))}, h},
		{"repeats beyond the bound", []Chain{setup(step(s, repeat(3601)))}, h},
		{"repeats just within", []Chain{setup(step(s, repeat(3600)))}, h},
		{"more than a Duration can be", []Chain{setup(step(math.MaxInt64, think(Think{Fixed: math.MaxInt64}),
			retry(math.MaxInt, math.MaxInt64, math.MaxInt64), repeat(math.MaxInt)))}, h},
		{"retries without end", []Chain{setup(step(s, retry(math.MaxInt, 0, 0)))}, h},
		{"nothing without end", []Chain{setup(step(0, repeat(math.MaxInt)))}, 0},
	} {
		if got := (&Plan{Chains: tt.chains}).SetupWithin(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
