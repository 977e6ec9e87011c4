package chain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestBackoff(t *testing.T) {
	for _, tt := range []struct {
		in   rv.OnFailure
		want []int64
	}{
		{rv.OnFailure{Backoff: 10, MaxBackoff: 35}, []int64{10, 20, 35, 35}},
		{rv.OnFailure{Backoff: 50, MaxBackoff: 35}, []int64{35, 35, 35, 35}},
		{rv.OnFailure{}, []int64{0, 0, 0, 0}},
		{rv.OnFailure{Backoff: 20 * time.Hour}, []int64{int64(20 * time.Hour), int64(24 * time.Hour), int64(24 * time.Hour), int64(24 * time.Hour)}},
	} {
		f := (&builder{}).flow(&rv.Step{OnFailure: tt.in})
		var got []int64
		for n := range 4 {
			got = append(got, f.Backoff(n))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.in, diff)
		}
		if f.Backoff(1000) != got[3] {
			t.Errorf("%+v: the pause goes on to grow", tt.in)
		}
	}
}

func TestThink(t *testing.T) {
	src := sources(program(t, lifeCycle()))
	for _, tt := range []struct {
		in             rv.Think
		low, high      int64
		lowest, upmost int64 // bounds of the mean
	}{
		{rv.Think{Fixed: 5}, 5, 5, 5, 5},
		{rv.Think{}, 0, 0, 0, 0},
		{rv.Think{Min: 100, Max: 300}, 100, 300, 195, 205},
		{rv.Think{Min: 7, Max: 7}, 7, 7, 7, 7},
		{rv.Think{Mean: 1000, Max: 100_000}, 0, 100_000, 950, 1050},
		{rv.Think{Mean: 1000, Max: 500}, 0, 500, 350, 450},
	} {
		think := (&builder{}).think(&tt.in)
		const n = 20_000
		sum := int64(0)
		for range n {
			d := think.Draw(src)
			if d < tt.low || d > tt.high {
				t.Fatalf("%+v: %d", tt.in, d)
			}
			sum += d
		}
		if mean := sum / n; mean < tt.lowest || mean > tt.upmost {
			t.Errorf("%+v: mean %d", tt.in, mean)
		}
	}
}

func TestFlowOfAPlan(t *testing.T) {
	p := lifeCycle()
	p.Globals = []string{"g"}
	c := &p.Chains[1]
	c.Delay, c.MaxInFlight, c.Cookies = time.Second, 5, true
	c.Steps = append(c.Steps, c.Steps[0], c.Steps[0], c.Steps[0], c.Steps[0])
	for i, group := range []int{0, 1, 1, 2, 2} {
		c.Steps[i].Group = group
	}
	c.Steps[0].Repeat, c.Steps[0].ClearCookies = 4, true
	c.Steps[1].OnFailure = rv.OnFailure{Retries: 2, Continue: true}
	c.Steps[2].Think = &rv.Think{Fixed: 9}
	setup := p.Chains[0]
	setup.Phase, setup.Weight, setup.Publish = rv.PhaseSetup, 0, []int{1}
	p.Chains = append([]rv.Chain{setup}, p.Chains[1])
	g := program(t, p)

	var ends []int
	for i := range g.Steps {
		ends = append(ends, g.Steps[i].GroupEnd)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 6, 6, 8, 8}, ends); diff != "" {
		t.Errorf("ends of groups (-want +got):\n%s", diff)
	}
	steps := g.Steps[3:]
	if steps[0].Repeat != 4 || steps[1].Repeat != 1 || !steps[0].ClearCookies || steps[1].Retries != 2 || !steps[1].Continue || steps[0].Continue {
		t.Errorf("%+v, %+v", steps[0].Flow, steps[1].Flow)
	}
	if steps[0].Think != nil || steps[2].Think.Draw(nil) != 9 {
		t.Error("the think times are others")
	}
	load := &g.Chains[1]
	if load.Delay != int64(time.Second) || load.MaxInFlight != 5 || !load.Cookies || load.Scripted || g.Chains[0].Phase != rv.PhaseSetup {
		t.Errorf("%+v", load)
	}
	w := NewWeightedRoundRobin(g, nil)
	for range 5 {
		if got := w.Next(nil); got != 1 {
			t.Errorf("the wheel picks chain %d, which makes no load", got)
		}
	}
	if got := w.Next(func(c int) bool { return c == 0 }); got != -1 {
		t.Errorf("the wheel picks chain %d", got)
	}
}
