package search

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func settings(start int64) rv.Search {
	return rv.Search{Start: start, Min: 1, Max: 100_000_000, Precision: 0.03, MaxProbes: 20, Duration: 10 * time.Second}
}

// target is a queue with one server (M/M/1): its 99th percentile is ln(100) / (rate - load) below its rate, and the
// length of the probe above it. A probe measures the percentile with an error.
type target struct {
	random *rand.Rand
	// rate is in requests per second, from probe changes[0] on the second one.
	rate    float64
	changes int
	later   float64
	// generator is the highest load that the generator can send.
	generator float64
	probes    []rv.ProbeResult
}

const (
	limit    = 0.02 // seconds
	seconds  = 10.0
	errorOf  = 0.03
	inFactor = 64
)

// knee returns the load at which the 99th percentile is the limit.
func knee(rate float64) float64 { return rate - math.Log(100)/limit }

func (t *target) probe(load int64) rv.ProbeResult {
	rate := t.rate
	if t.later > 0 && len(t.probes) >= t.changes {
		rate = t.later
	}
	p99 := float64(seconds)
	if float64(load) < rate {
		p99 = min(seconds, math.Log(100)/(rate-float64(load)))
	}
	p99 *= 1 + errorOf*t.random.NormFloat64()
	out := rv.ProbeResult{Load: load, Outcome: rv.ProbeHeld}
	switch {
	case t.generator > 0 && float64(load) > t.generator:
		out.Outcome = rv.ProbeGeneratorBound
	case p99 > limit:
		out.Outcome = rv.ProbeFailed
	}
	return out
}

func (t *target) search(s rv.Search) (rv.SearchResult, int) {
	search := New(s)
	for {
		load, more := search.Next()
		if !more {
			return search.Result(t.probes), search.Probes()
		}
		p := t.probe(load)
		t.probes = append(t.probes, p)
		search.Observe(p.Outcome)
	}
}

func newTarget(seed uint64) (*target, *rand.Rand) {
	random := rand.New(rand.NewPCG(seed, 1))
	return &target{random: random, rate: 4000 * math.Pow(100, random.Float64())}, random
}

// startFor returns a start within a factor of 64 of a load.
func startFor(load float64, random *rand.Rand) int64 {
	return int64(math.Round(load * math.Pow(inFactor, 2*random.Float64()-1)))
}

func near(got int64, want float64) bool { return math.Abs(float64(got)-want) <= 0.03*want }

func seeds(t *testing.T) uint64 {
	if testing.Short() {
		return 500
	}
	return 20_000
}

// TestFindsTheKnee: within 3% in fewer than 15 probes, from each start within a factor of 64.
func TestFindsTheKnee(t *testing.T) {
	most := 0
	for seed := range seeds(t) {
		target, random := newTarget(seed)
		want := knee(target.rate)
		got, probes := target.search(settings(startFor(want, random)))
		most = max(most, probes)
		if got.Outcome != rv.SearchFound || !near(got.Highest, want) || probes >= 15 || got.Lowest <= got.Highest {
			t.Fatalf("seed %d: %s after %d probes, knee %.0f: %+v", seed, got.Message, probes, want, got)
		}
	}
	t.Logf("at most %d probes", most)
}

// TestEdgesOfTheRange: the greatest and the least start, and those around the steps of the growth.
func TestEdgesOfTheRange(t *testing.T) {
	for seed := range seeds(t) {
		for _, factor := range []float64{inFactor, 1.0 / inFactor, 4, 0.25, 1, 1.001, 0.999} {
			target, _ := newTarget(seed)
			want := knee(target.rate)
			start := math.Ceil(want * factor)
			if factor > 1 {
				start = math.Floor(want * factor)
			}
			got, probes := target.search(settings(int64(start)))
			if got.Outcome != rv.SearchFound || !near(got.Highest, want) || probes >= 15 {
				t.Fatalf("seed %d, factor %v: %s after %d probes, knee %.0f", seed, factor, got.Message, probes, want)
			}
		}
	}
}

// TestKneeMoves: the capacity changes by a tenth or more at any probe. The result is right for the capacity before or after,
// or the search says that it moved.
func TestKneeMoves(t *testing.T) {
	outcomes := map[rv.SearchOutcome]int{}
	for seed := range seeds(t) {
		target, random := newTarget(seed)
		before := knee(target.rate)
		target.later = target.rate * (1.15 + random.Float64())
		if random.IntN(2) == 0 {
			target.later = target.rate / (1.15 + random.Float64())
		}
		target.changes = 1 + random.IntN(14)
		after := knee(target.later)
		got, probes := target.search(settings(startFor(before, random)))
		outcomes[got.Outcome]++
		switch {
		case got.Outcome == rv.SearchFound && (near(got.Highest, before) || near(got.Highest, after)):
		case got.Outcome == rv.SearchMoved && strings.Contains(got.Message, "capacity of the target changed"):
		default:
			t.Fatalf("seed %d: %s %s after %d probes, knee %.0f, then %.0f from probe %d on", seed, got.Outcome, got.Message, probes, before, after, target.changes)
		}
	}
	if outcomes[rv.SearchMoved] == 0 || outcomes[rv.SearchFound] == 0 {
		t.Errorf("outcomes %v", outcomes)
	}
	t.Logf("outcomes %v", outcomes)
}

// TestGeneratorIsTheBottleneck: the result is the generator's limit, and is not taken for the target's.
func TestGeneratorIsTheBottleneck(t *testing.T) {
	for seed := range seeds(t) {
		target, random := newTarget(seed)
		want := knee(target.rate)
		target.generator = want * math.Pow(10, 2*random.Float64()-1)
		got, probes := target.search(settings(startFor(want, random)))
		outcome, limit := rv.SearchFound, want
		if target.generator < want {
			outcome, limit = rv.SearchGeneratorBound, target.generator
		}
		if math.Abs(target.generator-want) < 0.05*want {
			continue // either may be the result
		}
		if got.Outcome != outcome || !near(got.Highest, limit) || probes > 20 {
			t.Fatalf("seed %d: %s %s after %d probes; knee %.0f, generator %.0f", seed, got.Outcome, got.Message, probes, want, target.generator)
		}
	}
}

// TestTransitions: each outcome of a probe in each state. A letter is the outcome of one probe: Held, Failed, Generator, Invalid.
func TestTransitions(t *testing.T) {
	bound := rv.Search{Start: 100, Min: 25, Max: 1600, Precision: 0.5, MaxProbes: 12}
	tests := []struct {
		name, probes string
		loads        []int64
		want         rv.SearchOutcome
		highest      int64
		lowest       int64
		message      string
	}{
		{"found", "HFHFFH", []int64{100, 400, 200, 283, 283, 200}, rv.SearchFound, 200, 283, "200 requests per second is the highest rate that held; 283 requests per second failed"},
		{"downwards", "FHFHFH", []int64{100, 25, 50, 35, 50, 35}, rv.SearchFound, 35, 50, ""},
		{"nothing holds", "FF", []int64{100, 25}, rv.SearchNotFound, 0, 25, "not even 25 requests per second, the minimum"},
		{"the maximum holds", "HHH", []int64{100, 400, 1600}, rv.SearchMaximumHeld, 1600, 0, "the maximum of the search"},
		{"the maximum holds later", "HHFHHH", []int64{100, 400, 1600, 800, 1131, 1600}, rv.SearchMaximumHeld, 1600, 0, ""},
		{"the generator at the minimum", "GG", []int64{100, 25}, rv.SearchGeneratorBound, 0, 25, ""},
		{"the generator", "HGHGGH", []int64{100, 400, 200, 283, 283, 200}, rv.SearchGeneratorBound, 200, 283, "the generator was the bottleneck at 283"},
		{"the generator once", "HGHGFH", []int64{100, 400, 200, 283, 283, 200}, rv.SearchFound, 200, 283, ""},
		{"the generator at last", "HFHFFG", []int64{100, 400, 200, 283, 283, 200}, rv.SearchGeneratorBound, 200, 283, ""},
		{"a generator that can do more later", "HGHGHHFFFFH", []int64{100, 400, 200, 283, 283, 425, 1600, 825, 592, 592, 425}, rv.SearchFound, 425, 592, ""},
		{"the edge, from above", "HFHFHF", []int64{100, 400, 200, 283, 283, 425}, rv.SearchFound, 283, 425, ""},
		{"the edge, from below", "HFHFFFH", []int64{100, 400, 200, 283, 283, 200, 160}, rv.SearchFound, 160, 200, ""},
		{"moved up", "HFHFHH", []int64{100, 400, 200, 283, 283, 425}, rv.SearchMoved, 425, 283, "283 requests per second failed first and held later, and 425"},
		{"moved down", "HFHFFFF", []int64{100, 400, 200, 283, 283, 200, 160}, rv.SearchMoved, 200, 160, "200 requests per second held first and failed later, and 160"},
		{"moved below the minimum", "FHFFFF", []int64{100, 25, 50, 35, 35, 25}, rv.SearchMoved, 25, 25, "25 requests per second, the minimum of the search, held first"},
		{"moved up, the generator late above", "HGFHHH", []int64{100, 400, 200, 141, 200, 300}, rv.SearchMoved, 300, 200, "the capacity of the target may have changed during the search: 200 requests per second failed first"},
		{"moved up, the generator late below", "HGHFHH", []int64{100, 400, 200, 283, 283, 425}, rv.SearchGeneratorBound, 425, 283, "the generator was the bottleneck at 400 requests per second, which can be why 283 requests per second failed first and held later, and 425 requests per second held, too"},
		{"moved down, the generator late above", "HGHFFFF", []int64{100, 400, 200, 283, 283, 200, 160}, rv.SearchMoved, 200, 160, "may have changed"},
		{"moved down, the generator late once", "HFHFGFF", []int64{100, 400, 200, 283, 283, 200, 160}, rv.SearchGeneratorBound, 200, 160, "the generator was the bottleneck at 283 requests per second, which can be why 200"},
		{"moved down, the generator late twice", "HFHGGFF", []int64{100, 400, 200, 283, 283, 200, 160}, rv.SearchGeneratorBound, 200, 160, "the generator was the bottleneck at 283"},
		{"moved below the minimum, the generator late", "FHFFGF", []int64{100, 25, 50, 35, 35, 25}, rv.SearchGeneratorBound, 25, 25, "the generator was the bottleneck at 35 requests per second, which can be why 25"},
		{"repeated", "HIFIHFFIH", []int64{100, 400, 400, 200, 200, 283, 283, 200, 200}, rv.SearchFound, 200, 283, ""},
		{"too many", "HIIIIIIIIIII", []int64{100, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400}, rv.SearchIncomplete, 100, 0, "all 12 probes"},
		{"too many, the generator late", "HGIIIIIIIIII", []int64{100, 400, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200}, rv.SearchIncomplete, 100, 400, "before there was a result; the generator was the bottleneck at 400 requests per second"},
		{"not over", "HF", []int64{100, 400}, rv.SearchIncomplete, 100, 400, "ended after 2 probes"},
	}
	letters := map[rune]rv.ProbeOutcome{'H': rv.ProbeHeld, 'F': rv.ProbeFailed, 'G': rv.ProbeGeneratorBound, 'I': rv.ProbeInvalid}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(bound)
			var loads []int64
			var probes []rv.ProbeResult
			for _, c := range tt.probes {
				load, more := s.Next()
				if !more {
					break
				}
				loads = append(loads, load)
				probes = append(probes, rv.ProbeResult{Load: load, Outcome: letters[c]})
				s.Observe(letters[c])
			}
			if diff := cmp.Diff(tt.loads, loads); diff != "" {
				t.Errorf("loads (-want +got):\n%s", diff)
			}
			got := s.Result(probes)
			if got.Outcome != tt.want || got.Highest != tt.highest || got.Lowest != tt.lowest || !strings.Contains(got.Message, tt.message) {
				t.Errorf("%+v\nwant %s, highest %d, lowest %d, %q", got, tt.want, tt.highest, tt.lowest, tt.message)
			}
			if diff := cmp.Diff(s, Replay(bound, probes), cmp.AllowUnexported(Search{})); diff != "" {
				t.Errorf("a replay differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSmallLoads: loads are whole numbers, so the two may differ by one and by more than the precision.
func TestSmallLoads(t *testing.T) {
	for knee := int64(1); knee <= 40; knee++ {
		s := New(settings(7))
		for {
			load, more := s.Next()
			if !more {
				break
			}
			outcome := rv.ProbeHeld
			if load > knee {
				outcome = rv.ProbeFailed
			}
			s.Observe(outcome)
		}
		if got := s.Result(nil); got.Outcome != rv.SearchFound || got.Highest != knee {
			t.Errorf("knee %d: %+v", knee, got)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct {
		concurrency bool
		want        string
	}{
		{false, "4 requests per second is the highest rate that held; 5 requests per second failed"},
		{true, "4 requests in flight is the highest concurrency that held; 5 requests in flight failed"},
	} {
		s := New(rv.Search{Concurrency: tt.concurrency, Start: 4, Min: 1, Max: 5, Precision: 0.03, MaxProbes: 20})
		for _, o := range []rv.ProbeOutcome{rv.ProbeHeld, rv.ProbeFailed, rv.ProbeFailed, rv.ProbeHeld} {
			s.Observe(o)
		}
		if r := s.Result(nil); r.Message != tt.want || r.Concurrency != tt.concurrency {
			t.Errorf("%+v, want %q", r, tt.want)
		}
	}
}
