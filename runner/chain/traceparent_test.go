package chain

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// traced is a plan whose steps send a traceparent.
func traced(seed uint64, ratio float64) *rv.Plan {
	p := lifeCycle()
	p.Seed = seed
	t := &rv.Traceparent{Ratio: ratio}
	p.Variables = append(p.Variables, rv.Variable{Name: t.Name(), Scope: rv.ScopeStep, Traceparent: t})
	value := rv.Text{{Variable: len(p.Variables)}}
	for i := range p.Chains[0].Steps {
		s := &p.Chains[0].Steps[i]
		s.Headers = append(s.Headers, rv.Header{Name: lit("traceparent"), Value: value})
	}
	return p
}

// traces draws n values on a worker, by turns for the steps of the chain.
func traces(t *testing.T, g *Program, share *rv.Share, worker, n int, began time.Time) (out []string) {
	t.Helper()
	var in Instance
	src := NewSources(g, share, worker)
	in.Start(g, 0, src, began.UnixNano())
	for i := range n {
		s := &g.Steps[i%3]
		in.BeginStep(s, began.UnixNano())
		value := string(s.trace.appendTo(nil, &in))
		if again := string(s.trace.appendTo(nil, &in)); again != value {
			t.Fatalf("a request that is sent again has %s, at first %s", again, value)
		}
		if id, sampled := s.Trace(&in); !s.Traced() || value[3:35] != hex.EncodeToString(id[:]) || sampled != strings.HasSuffix(value, "-01") {
			t.Fatalf("%s has trace id %x, sampled %t", value, id, sampled)
		}
		out = append(out, value)
	}
	return out
}

var traceparentPattern = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`)

// TestTraceparentsAreUnique: no id occurs twice, on all workers of all shards of random plans.
func TestTraceparentsAreUnique(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	for range 20 {
		p := traced(random.Uint64(), random.Float64())
		p.Shards, p.Targets[0].Connections = 1+random.IntN(5), 64
		shares, err := split.Split(p, p.Shards)
		if err != nil {
			t.Fatal(err)
		}
		g, seen := program(t, p), map[string]bool{}
		for i := range shares {
			workers := 1 + random.IntN(3)
			for w, share := range split.Workers(&shares[i], workers) {
				began := time.Unix(random.Int64N(2e9), random.Int64N(1e9))
				for _, v := range traces(t, g, &share, w, 1000, began) {
					id, parent := v[3:35], v[36:52]
					if !traceparentPattern.MatchString(v) || seen[id] || seen[parent] || id == strings.Repeat("0", 32) || parent == strings.Repeat("0", 16) {
						t.Fatalf("%s is not valid, or its ids occur twice", v)
					}
					seen[id], seen[parent] = true, true
				}
			}
		}
	}
}

// TestTraceparentRatio: the number of sampled values is within five standard deviations, and a sampler of OpenTelemetry
// with the same ratio (the last 64 bits of the trace id, without the lowest, are below it) chooses the same traces.
func TestTraceparentRatio(t *testing.T) {
	const n = 20_000
	for _, ratio := range []float64{0, 0.001, 0.01, 0.5, 0.9, 1} {
		g := program(t, traced(7, ratio))
		sampled := 0
		for _, v := range traces(t, g, &rv.Share{Slots: rv.Slots{Of: 1, Residues: []int64{0}}}, 0, n, time.Unix(1e9, 0)) {
			low, err := strconv.ParseUint(v[19:35], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			yes := strings.HasSuffix(v, "-01")
			if want := low>>1 < uint64(ratio*(1<<63)); yes != want {
				t.Fatalf("ratio %v: %s, want sampled %t", ratio, v, want)
			}
			if yes {
				sampled++
			}
		}
		if wide := 5 * math.Sqrt(n*ratio*(1-ratio)); math.Abs(float64(sampled)-n*ratio) > wide {
			t.Errorf("ratio %v: %d of %d are sampled, want %v at most %.0f away", ratio, sampled, n, n*ratio, wide)
		}
	}
}

// TestTraceparentsOfTwoRuns: the seed and the time of the start decide the values, so that two runs of the same test have
// different traces.
func TestTraceparentsOfTwoRuns(t *testing.T) {
	whole := &rv.Share{Slots: rv.Slots{Of: 1, Residues: []int64{0}}}
	of := func(seed uint64, began int64) string {
		return fmt.Sprint(traces(t, program(t, traced(seed, 0.5)), whole, 0, 9, time.Unix(began, 0)))
	}
	first := of(1, 10)
	if again := of(1, 10); again != first {
		t.Error("the same seed and start have different values")
	}
	if first == of(1, 11) || first == of(2, 10) {
		t.Error("another seed or start has the same values")
	}
}

func TestTraceparentIsRefused(t *testing.T) {
	p := traced(1, 1.5)
	if _, err := Load(p, Resources{}); err == nil || !strings.Contains(err.Error(), "ratio 1.5") {
		t.Errorf("ratio 1.5: %v", err)
	}
	p = traced(1, 0.5)
	p.Chains[0].Steps[0].BodyFrom = &rv.BodyFrom{Content: rv.Content{Text: "${traceparent(0.5)}"}}
	if _, err := Load(p, Resources{}); err == nil || !strings.Contains(err.Error(), "outside the manifest") {
		t.Errorf("in a body from a file: %v", err)
	}
}
