package pace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestPoissonRandomAccess compares points that are asked for in any order with those asked for one after another.
func TestPoissonRandomAccess(t *testing.T) {
	const points = 600_000 // more than two marks
	all := make([]int64, points)
	p := newPoisson(Even{1, 1}, 5, 0, nil)
	for n := range all {
		all[n] = p.position(int64(n))
	}
	if !slices.IsSorted(all) {
		t.Fatal("the points are not ascending")
	}
	r := rand.New(rand.NewPCG(1, 4))
	p = newPoisson(Even{1, 1}, 5, 0, nil)
	for range 3000 {
		n := r.IntN(points)
		if got := p.position(int64(n)); got != all[n] {
			t.Fatalf("point %d is at %d, want %d", n, got, all[n])
		}
		first := r.IntN(n + 1)
		later := newPoisson(Even{1, 1}, 5, int64(first), nil)
		origin := int64(0)
		if first > 0 {
			origin = all[first-1]
		}
		if got, want := later.Due(int64(n-first)), (all[n]-origin)>>positionShift; got != want {
			t.Fatalf("slot %d from slot %d on is due at %d, want %d", n, first, got, want)
		}
	}
}

// TestPoissonOfAnotherRate: after a change of the rate, the process has the marks of the blocks that it was computed for, and goes to a later
// block by them.
func TestPoissonOfAnotherRate(t *testing.T) {
	const n = 20 * blocksPerMark * blockMean
	before := newPoisson(Even{1, 1}, 5, 0, nil)
	want := before.position(n)
	p := newPoisson(Even{2, 1}, 5, 1, before)
	looks := 0
	p.seek(func(_, before int64) bool { looks++; return before <= n })
	if got := p.position(n); got != want || looks > 2*blocksPerMark {
		t.Errorf("point %d is at %d, want %d, after %d blocks", n, got, want, looks)
	}
}

func TestPoissonFarAway(t *testing.T) {
	p := newPoisson(Even{100_000_000, second}, 1, 0, nil)
	const n = 1_000_000_000
	due := p.Due(n)
	if seconds := float64(due) / 1e9; math.Abs(seconds-10) > 6*math.Sqrt(n)/1e8 {
		t.Errorf("slot %d is due after %v s, want 10", n, seconds)
	}
	if got := p.Before(due); got > n || p.Due(got) < due {
		t.Errorf("Before(Due(%d)) = %d", n, got)
	}
	if got := p.Due(math.MaxInt64); got != Never {
		t.Errorf("the last slot is due at %d, want Never", got)
	}
}

// TestPoissonFits draws arrivals with many seeds, and takes them as several workers do: each its own slots. Their union is
// compared with a Poisson process by two tests of an error probability of 1% each: Kolmogorov-Smirnov for the intervals,
// which are exponential, and the index of dispersion for the counts in equal intervals. If the arrivals were a Poisson
// process with random seeds, each test would reject about 1% of the seeds, and more than 5 of 100 with a probability of
// 0.06%. The seeds are fixed, so the result is the same each time. FuzzPoissonFits is the long form.
func TestPoissonFits(t *testing.T) {
	for _, rate := range poissonRates() {
		t.Run(rate.Name, func(t *testing.T) { checkFit(t, rate, 0, 100, 5) })
	}
}

// FuzzPoissonFits is TestPoissonFits with any 400 seeds in sequence. A Poisson process is rejected with a probability of 1e-8.
func FuzzPoissonFits(f *testing.F) {
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, rate := range poissonRates() {
			checkFit(t, rate, seed, 400, 20)
		}
	})
}

func poissonRates() []rv.Rate {
	return []rv.Rate{
		{Name: "constant", Count: 5000, Period: time.Second, Duration: time.Second, Arrivals: rv.ArrivalsPoisson},
		{Name: "ramp", Count: 8000, Period: time.Second, Duration: time.Second, Arrivals: rv.ArrivalsPoisson, RampFrom: new(int64)},
	}
}

// checkFit fails if one of the tests rejects more than most of the seeds.
func checkFit(t *testing.T, rate rv.Rate, first uint64, seeds, most int) {
	intervals, counts := 0, 0
	for i := range seeds {
		rate.Seed = first + uint64(i)
		at := normalized(&rate, unionOf(&rate))
		if ks(at) > 1.63 { // the limit of 1%
			intervals++
		}
		if math.Abs(dispersion(at)) > 2.58 { // 1%, both sides
			counts++
		}
	}
	if intervals > most || counts > most {
		t.Errorf("%s: of %d seeds, %d are rejected by their intervals and %d by their counts, want at most %d", rate.Name, seeds, intervals, counts, most)
	}
}

// unionOf returns when the slots of a stage are due, taken by three workers.
func unionOf(rate *rv.Rate) (all []int64) {
	for _, residues := range [][]int64{{0, 3}, {1}, {2, 4}} {
		s := New([]rv.Rate{*rate}, rv.Slots{Of: 5, Residues: residues})
		s.Start(0)
		s.Advance(1)
		for s.Due() != Never {
			all = append(all, s.Due())
			s.Take()
		}
	}
	slices.Sort(all)
	return all
}

// normalized returns the arrivals on the axis on which their rate is 1.
func normalized(rate *rv.Rate, due []int64) []float64 {
	out := make([]float64, len(due))
	for i, t := range due {
		x := float64(t) / float64(rate.Period)
		if rate.RampFrom != nil {
			x *= x / 2 // from zero, over one period
		}
		out[i] = x * float64(rate.Count)
	}
	return out
}

// ks returns the statistic of Kolmogorov and Smirnov for the intervals, multiplied by the square root of their number.
func ks(at []float64) float64 {
	gaps := make([]float64, len(at))
	before := 0.0
	for i, x := range at {
		gaps[i], before = x-before, x
	}
	slices.Sort(gaps)
	n, d := float64(len(gaps)), 0.0
	for i, g := range gaps {
		f := 1 - math.Exp(-g)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d * math.Sqrt(n)
}

// dispersion returns how much the counts in intervals of 10 mean gaps vary, in standard deviations from a Poisson process.
func dispersion(at []float64) float64 {
	const width = 10
	counts := make([]float64, int(at[len(at)-1]/width))
	for _, x := range at {
		if i := int(x / width); i < len(counts) {
			counts[i]++
		}
	}
	n, sum, squares := float64(len(counts)), 0.0, 0.0
	for _, c := range counts {
		sum += c
		squares += c * c
	}
	index := (squares - sum*sum/n) / (sum / n)
	return (index - (n - 1)) / math.Sqrt(2*(n-1))
}

func TestBurst(t *testing.T) {
	b := burst{of: Even{10, second}, size: 4}
	for k, want := range map[int64]int64{0: 0, 3: 0, 4: 400_000_000, 7: 400_000_000, 8: 800_000_000} {
		if got := b.Due(k); got != want {
			t.Errorf("Due(%d) = %d, want %d", k, got, want)
		}
	}
	for offset, want := range map[int64]int64{0: 0, 1: 4, 400_000_000: 4, 400_000_001: 8, second: 12} {
		if got := b.Before(offset); got != want {
			t.Errorf("Before(%d) = %d, want %d", offset, got, want)
		}
	}
}
