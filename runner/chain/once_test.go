package chain

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestOnceChainsSeeWholeTables: chains that run once draw all rows, each phase from the first one, though
// other shards and workers own most of them. The load has its own part as if those chains were not there.
func TestOnceChainsSeeWholeTables(t *testing.T) {
	const n = 10
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint("v", i)
	}
	table := &rv.CSV{Content: rv.Content{Text: csvRows(n)}}
	for name, tt := range map[string]struct {
		v      rv.Variable
		text   rv.Text
		sorted bool
	}{
		"list":          {rv.Variable{List: items}, variableText(1), true},
		"list, step":    {rv.Variable{List: items, Scope: rv.ScopeStep}, variableText(1), true},
		"range":         {rv.Variable{Range: &rv.Range{End: n, Step: 1, Width: 2}}, variableText(1), true},
		"csv":           {rv.Variable{CSV: table}, rv.Text{{Variable: 1, Column: "i"}}, true},
		"csv, shuffled": {rv.Variable{CSV: table, Order: rv.OrderShuffled}, rv.Text{{Variable: 1, Column: "i"}}, false},
	} {
		tt.v.Name = "v"
		p := drawPlan(tt.text, tt.v)
		for _, phase := range []rv.Phase{rv.PhaseSetup, rv.PhaseTeardown} {
			once := p.Chains[0]
			once.Name, once.Phase = string(phase), phase
			p.Chains = append(p.Chains, once)
		}
		g := program(t, p)
		load := bodies(g, workersOf(t, p, g, 2, 2)[0], 0, 3)
		src := workersOf(t, p, g, 2, 2)[0]
		setup := bodies(g, src, 1, n)
		if got := bodies(g, src, 0, 3); !cmp.Equal(load, got) {
			t.Errorf("%s: the load has %q behind a setup, %q without", name, got, load)
		}
		teardown := bodies(g, src, 2, n)
		if diff := cmp.Diff(setup, teardown); diff != "" {
			t.Errorf("%s: teardown differs from setup:\n%s", name, diff)
		}
		if sorted := slices.IsSorted(setup); sorted != tt.sorted {
			t.Errorf("%s: setup has %q", name, setup)
		}
		slices.Sort(setup)
		if len(slices.Compact(setup)) != n {
			t.Errorf("%s: setup has not seen every value: %q", name, setup)
		}
	}
}

// TestOnceChainsTakeNumbers: UUIDs and counters stay unique in the test, so setup and load share them.
func TestOnceChainsTakeNumbers(t *testing.T) {
	p := drawPlan(variableText(1), rv.Variable{Name: "v", Counter: &rv.Counter{Step: 1}})
	once := p.Chains[0]
	once.Name, once.Phase = "setup", rv.PhaseSetup
	p.Chains = append(p.Chains, once)
	g := program(t, p)
	src := workersOf(t, p, g, 1, 1)[0]
	got := append(bodies(g, src, 1, 2), bodies(g, src, 0, 2)...)
	if diff := cmp.Diff([]string{"0", "1", "2", "3"}, got); diff != "" {
		t.Error(diff)
	}
}
