package chain

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// drawPlan has one chain whose body is a text.
func drawPlan(body rv.Text, variables ...rv.Variable) *rv.Plan {
	p := lifeCycle()
	p.Seed, p.Variables = 7, variables
	p.Targets[0].Connections = 64
	p.Chains = []rv.Chain{{Name: "c", Weight: 1, Steps: []rv.Step{{Name: "s", Method: "POST", Path: lit("/"), Body: body, Timeout: 1}}}}
	return p
}

func variableText(i int) rv.Text { return rv.Text{{Variable: i}} }

// workersOf are the sources of all workers of a test.
func workersOf(t *testing.T, p *rv.Plan, g *Program, shards, workers int) []*Sources {
	t.Helper()
	shares, err := split.Split(p, shards)
	if err != nil {
		t.Fatal(err)
	}
	var out []*Sources
	for i := range shares {
		for w, part := range split.Workers(&shares[i], workers) {
			out = append(out, NewSources(g, &part, w))
		}
	}
	return out
}

// bodies renders the body of so many instances of a chain of one step.
func bodies(g *Program, src *Sources, chain, n int) []string {
	var out []string
	var in Instance
	for range n {
		s := &g.Steps[g.Chains[chain].First]
		in.Start(g, chain, src, 0)
		in.BeginStep(s, 0)
		out = append(out, string(s.AppendBody(nil, &in)))
	}
	return out
}

// untilEnded renders bodies until the chain may not begin any more.
func untilEnded(t *testing.T, g *Program, src *Sources) []string {
	t.Helper()
	var out []string
	for !src.Ended(0) {
		if len(out) > 10_000 {
			t.Fatal("a variable that stops never ends")
		}
		out = append(out, bodies(g, src, 0, 1)...)
	}
	return out
}

// csvRows is a table of n rows with the columns i and name.
func csvRows(n int) string {
	var b strings.Builder
	b.WriteString("i,name\r\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,\"n,%d\"\r\n", i, i)
	}
	return b.String()
}

func TestAPassHasEveryValueOnce(t *testing.T) {
	const n = 37
	items, want := []string{}, []string{}
	for i := range n {
		items = append(items, fmt.Sprint("v", i))
	}
	csvWant := []string{}
	for i := range n {
		want = append(want, items[i])
		csvWant = append(csvWant, fmt.Sprintf("n,%d", i))
	}
	slices.Sort(want)
	slices.Sort(csvWant)
	for _, order := range []rv.Order{rv.OrderSequential, rv.OrderShuffled} {
		for name, tt := range map[string]struct {
			v    rv.Variable
			text rv.Text
			want []string
		}{
			"list":       {rv.Variable{List: items}, variableText(1), want},
			"list, step": {rv.Variable{List: items, Scope: rv.ScopeStep}, variableText(1), want},
			"csv":        {rv.Variable{CSV: &rv.CSV{Content: rv.Content{Text: csvRows(n)}}}, rv.Text{{Variable: 1, Column: "name"}}, csvWant},
		} {
			tt.v.Name, tt.v.Order, tt.v.Stop = "v", order, true
			p := drawPlan(tt.text, tt.v)
			g := program(t, p)
			for shards := 1; shards <= 6; shards++ {
				for workers := 1; workers <= 5; workers++ {
					var got []string
					for _, src := range workersOf(t, p, g, shards, workers) {
						got = append(got, untilEnded(t, g, src)...)
					}
					if order == rv.OrderShuffled && shards*workers == 1 && slices.IsSorted(got) {
						t.Errorf("%s %s: not shuffled", name, order)
					}
					slices.Sort(got)
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Fatalf("%s %s, %d shards of %d workers (-want +got):\n%s", name, order, shards, workers, diff)
					}
				}
			}
		}
	}
}

// TestWrapRepeatsThePass: what wraps never ends, and begins again with the same.
func TestWrapRepeatsThePass(t *testing.T) {
	for _, order := range []rv.Order{rv.OrderSequential, rv.OrderShuffled} {
		p := drawPlan(variableText(1), rv.Variable{Name: "v", Range: &rv.Range{End: 11, Step: 1}, Order: order})
		g := program(t, p)
		src := sources(g)
		first, second := bodies(g, src, 0, 11), bodies(g, src, 0, 11)
		if diff := cmp.Diff(first, second); diff != "" || src.Ended(0) || g.Chains[0].Ends {
			t.Errorf("%q: ended %v, second pass (-first +second):\n%s", order, src.Ended(0), diff)
		}
	}
}

func TestWorkersWithoutARowUseAll(t *testing.T) {
	p := drawPlan(rv.Text{{Variable: 1, Column: "i"}}, rv.Variable{Name: "v", CSV: &rv.CSV{Content: rv.Content{Text: csvRows(3)}}})
	g := program(t, p)
	for i, src := range workersOf(t, p, g, 8, 1) {
		seen := bodies(g, src, 0, 3)
		slices.Sort(seen)
		if n := len(slices.Compact(seen)); n != 3 && n != 1 {
			t.Errorf("worker %d uses %d rows, want its own one or all", i, n)
		}
	}
}

// TestRowsOfCutAnywhere: whatever the cuts, rows have one owner, for as many rows as there may be.
func TestRowsOfCutAnywhere(t *testing.T) {
	for _, rows := range []int64{1, 2, 3, 1000, 1<<31 - 1} {
		cuts := []int64{0, 1, 12345, 1 << 20, 1<<39 + 17, 1<<40 - 1, rv.Parts}
		next := int64(0)
		for i := range cuts[1:] {
			for _, s := range rowsOf([]rv.Span{{From: cuts[i], To: cuts[i+1]}}, rows) {
				if s.From != next {
					t.Fatalf("%d rows: %d follows %d", rows, s.From, next)
				}
				next = s.To
			}
		}
		if next != rows {
			t.Errorf("%d rows: %d have owners", rows, next)
		}
	}
	if got := rowAt(rv.Parts, 1<<50); got != 1<<50 {
		t.Errorf("the end of 2^50 rows is %d", got)
	}
}

// TestSlotsNumberWithoutRepeat: counters and UUIDs of all workers differ, and counters have no gaps.
func TestSlotsNumberWithoutRepeat(t *testing.T) {
	counter := rv.Variable{Name: "n", Counter: &rv.Counter{Start: 100, Step: 3, Width: 6}}
	uuid := rv.Variable{Name: "u", UUID: true, Scope: rv.ScopeStep}
	p := drawPlan(rv.Text{{Variable: 1}, {Literal: " "}, {Variable: 2}}, counter, uuid)
	g := program(t, p)
	for _, split := range [][2]int{{1, 1}, {1, 4}, {3, 2}, {5, 3}} {
		owners := split[0] * split[1]
		numbers, ids := []string{}, map[string]bool{}
		for _, src := range workersOf(t, p, g, split[0], split[1]) {
			for _, body := range bodies(g, src, 0, 60/owners) {
				number, id, _ := strings.Cut(body, " ")
				numbers = append(numbers, number)
				ids[id] = true
			}
		}
		want := []string{}
		for i := range 60 / owners * owners {
			want = append(want, fmt.Sprintf("%06d", 100+3*i))
		}
		slices.Sort(numbers)
		if diff := cmp.Diff(want, numbers); diff != "" {
			t.Errorf("%v (-want +got):\n%s", split, diff)
		}
		if len(ids) != len(want) {
			t.Errorf("%v: %d different UUIDs, want %d", split, len(ids), len(want))
		}
	}
}

func TestEqualSeedAndShareGiveEqualValues(t *testing.T) {
	all := []rv.Variable{
		{Name: "a", Random: &rv.Random{Integer: &rv.RandomInteger{Max: 1e9}}},
		{Name: "b", Random: &rv.Random{Hex: 9}},
		{Name: "c", List: strings.Split("abcdefghijklmnop", ""), Order: rv.OrderRandom},
		{Name: "d", UUID: true},
		{Name: "e", Random: &rv.Random{Integer: &rv.RandomInteger{Max: 1e9}}, Scope: rv.ScopeWorker},
	}
	text := rv.Text{{Variable: 1}, {Variable: 2}, {Variable: 3}, {Variable: 4}, {Variable: 5}}
	p := drawPlan(text, all...)
	g := program(t, p)
	a, b := workersOf(t, p, g, 2, 2), workersOf(t, p, g, 2, 2)
	seen := map[string]bool{}
	for i := range a {
		one, two := bodies(g, a[i], 0, 5), bodies(g, b[i], 0, 5)
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("worker %d (-first +second):\n%s", i, diff)
		}
		for _, s := range one {
			seen[s] = true
		}
	}
	p.Seed++
	for _, s := range bodies(program(t, p), sources(program(t, p)), 0, 5) {
		seen[s] = true
	}
	if len(seen) != 25 {
		t.Errorf("%d different bodies, want 25", len(seen))
	}
}

func TestScopes(t *testing.T) {
	number := &rv.Range{End: 1000, Step: 1}
	p := drawPlan(rv.Text{{Variable: 1}, {Literal: " "}, {Variable: 2}, {Literal: " "}, {Variable: 3}, {Literal: " "}, {Variable: 4}, {Literal: " "}, {Variable: 2}},
		rv.Variable{Name: "instance", Range: number},
		rv.Variable{Name: "step", Range: number, Scope: rv.ScopeStep},
		rv.Variable{Name: "worker", Range: number, Scope: rv.ScopeWorker},
		rv.Variable{Name: "global", Range: number, Scope: rv.ScopeGlobal, Order: rv.OrderShuffled})
	c := &p.Chains[0]
	c.Steps = append(c.Steps, c.Steps[0])
	g := program(t, p)
	global := newPermutation(1000, seedOf(7, 3))
	want := func(instance, step, worker int) string {
		return fmt.Sprint(instance, " ", step, " ", worker, " ", global.at(0), " ", step)
	}
	srcs := workersOf(t, p, g, 1, 2)
	for w, src := range srcs {
		from := 500 * w
		var in Instance
		for i := range 3 {
			in.Start(g, 0, src, 0)
			// The steps of a parallel group begin before either is rendered, and a request may be rendered again.
			in.BeginStep(&g.Steps[0], 0)
			in.BeginStep(&g.Steps[1], 0)
			for range 2 {
				for s := range 2 {
					got := string(g.Steps[s].AppendBody(nil, &in))
					if want := want(from+i, from+2*i+s, from); got != want {
						t.Errorf("worker %d instance %d step %d: %q, want %q", w, i, s, got, want)
					}
				}
			}
		}
	}
}

// TestContinue: the worker that takes the place of another one, with twice as many slots, draws no number and no random value again.
func TestContinue(t *testing.T) {
	p := drawPlan(rv.Text{{Variable: 1}, {Literal: " "}, {Variable: 2}, {Literal: " "}, {Variable: 3}},
		rv.Variable{Name: "counter", Counter: &rv.Counter{Step: 1}},
		rv.Variable{Name: "random", Random: &rv.Random{Hex: 8}},
		rv.Variable{Name: "worker", Random: &rv.Random{Hex: 8}, Scope: rv.ScopeWorker})
	g := program(t, p)
	earlier, src := workersOf(t, p, g, 2, 1)[0], workersOf(t, p, g, 1, 1)[0]
	all := bodies(g, earlier, 0, 3) // the numbers 0, 2 and 4
	src.Continue(earlier)
	all = append(all, bodies(g, src, 0, 3)...)
	var numbers []string
	random, worker := map[string]bool{}, map[string]bool{}
	for _, body := range all {
		f := strings.Fields(body)
		numbers, random[f[1]], worker[f[2]] = append(numbers, f[0]), true, true
	}
	if want := []string{"0", "2", "4", "5", "6", "7"}; !slices.Equal(numbers, want) || len(random) != len(all) || len(worker) != 1 {
		t.Errorf("numbers %v, want %v; %d random values, %d of the worker", numbers, want, len(random), len(worker))
	}
}

func TestSequencesAcrossChainsShareACursor(t *testing.T) {
	p := drawPlan(variableText(1), rv.Variable{Name: "v", List: []string{"a", "b"}, Stop: true})
	p.Chains = append(p.Chains, p.Chains[0], p.Chains[0])
	p.Chains[2].Steps = []rv.Step{{Name: "s", Method: "GET", Path: lit("/"), Timeout: 1}}
	g := program(t, p)
	src := sources(g)
	var in Instance
	in.Start(g, 0, src, 0)
	in.Start(g, 1, src, 0)
	if got := string(g.Steps[1].AppendBody(nil, &in)); got != "b" {
		t.Errorf("the second chain has %q, want b", got)
	}
	if !src.Ended(0) || !src.Ended(1) || src.Ended(2) || g.Chains[2].Ends {
		t.Error("the chains that draw the variable have ended, the other one has not")
	}
}

func TestCursorWalksItsSpansAndWraps(t *testing.T) {
	c := newCursor([]rv.Span{{From: 3, To: 5}, {From: 7, To: 7}, {From: 9, To: 10}})
	var got []int64
	for range 7 {
		got = append(got, c.pull())
	}
	if diff := cmp.Diff([]int64{3, 4, 9, 3, 4, 9, 3}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPermutationIsABijection(t *testing.T) {
	sizes := []int64{1000, 1023, 1024, 1025, 4097, 65537}
	for size := int64(1); size < 70; size++ {
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		for seed := range uint64(3) {
			p := newPermutation(size, seed)
			seen := make([]bool, size)
			fixed := 0
			for i := range size {
				at := p.at(i)
				if at < 0 || at >= size || seen[at] {
					t.Fatalf("size %d seed %d: %d goes to %d", size, seed, i, at)
				}
				seen[at] = true
				if at == i {
					fixed++
				}
			}
			if size > 100 && fixed > 10 {
				t.Errorf("size %d seed %d: %d values stay where they are", size, seed, fixed)
			}
		}
	}
	huge := newPermutation(1e18, 1)
	for i := range int64(100) {
		if at := huge.at(1e18 - 1 - i); at < 0 || at >= 1e18 {
			t.Errorf("%d is out of range", at)
		}
	}
}

func TestMixChangesHalfOfTheBits(t *testing.T) {
	sum := 0
	for i := range uint64(64) {
		sum += bits.OnesCount64(mix(12345) ^ mix(12345^1<<i))
	}
	if sum < 64*28 || sum > 64*36 {
		t.Errorf("a bit changes %.1f of 64", float64(sum)/64)
	}
}

// TestListenerParts: a text has the URL, the host and the port of a listener.
func TestListenerParts(t *testing.T) {
	p := drawPlan(rv.Text{
		{Listener: 1}, {Literal: " "}, {Listener: 2, Column: rv.ListenerHost}, {Literal: " "}, {Listener: 2, Column: rv.ListenerPort},
	})
	p.Listeners = []rv.Listener{{Name: "a", Status: 204, Retention: 1}, {Name: "b", Status: 204, Retention: 1}}
	g := program(t, p)
	src := workersOf(t, p, g, 1, 1)[0]
	for url, want := range map[string]string{
		"https://core-1-0.listeners-core.ns.svc:9000": "http://192.0.2.1:1 core-1-0.listeners-core.ns.svc 9000",
		"http://[2001:db8::1]:9001":                   "http://192.0.2.1:1 2001:db8::1 9001",
	} {
		src.SetListener(0, "http://192.0.2.1:1")
		src.SetListener(1, url)
		if got := bodies(g, src, 0, 1)[0]; got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
	p.Chains[0].Steps[0].Body = rv.Text{{Listener: 1, Column: "path"}}
	if _, err := Load(p, Resources{}); err == nil || !strings.Contains(err.Error(), "a listener has no path") {
		t.Errorf("another part: got error %v", err)
	}
}
