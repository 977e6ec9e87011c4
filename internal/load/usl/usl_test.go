package usl

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// sdm91 is the SPEC SDM91 benchmark of a Sun SPARCcenter 2000 (N. J. Gunther, Analyzing Computer System Performance
// with Perl::PDQ, Springer 2005), as in the data set specsdm91 of the R package usl: users, and scripts per hour.
var sdm91 = []Point{{1, 64.9}, {18, 995.9}, {36, 1652.4}, {72, 1853.2}, {108, 1828.9}, {144, 1775.0}, {216, 1702.2}}

// TestPublished: the fits are those that the R package usl 3 publishes for its data sets (the output of its tests coef,
// confint and peak-scalability, and its README): specsdm91, raytracer (Gunther, Guerrilla Capacity Planning, table
// 5.1), and exact values of a law.
func TestPublished(t *testing.T) {
	raytracer := []Point{{1, 20}, {4, 78}, {8, 130}, {12, 170}, {16, 190}, {20, 200}, {24, 210}, {28, 230}, {32, 260},
		{48, 280}, {64, 310}}
	exact := []Point{{1, 1}, {2, 1.8868}, {4, 3.0769}, {6, 3.5294}, {8, 3.5398}, {10, 3.3557}}
	ratio := func(i int) func(model) float64 { return func(m model) float64 { return m[i] / m[0] } }
	one := func(m model) float64 { return 1 / m[0] }
	for _, c := range []struct {
		name                                                   string
		points                                                 []Point
		rate, contention, coherency, peak                      float64
		rateDeviation, contentionDeviation, coherencyDeviation float64
	}{
		{"specsdm91", sdm91, 89.995, 0.0277285, 0.0001044, 96.52, 14.21, 0.0091217, 0.0000199},
		{"raytracer", raytracer, 21.8488, 0.0578, 0, math.Inf(1), 0, 0, 0},
		{"exact", exact, 1, 0.02, 0.02, 7, 0, 0, 0},
	} {
		f := fit(c.points)
		for _, v := range []struct {
			of        string
			got, want float64
		}{
			{"rate of one", one(f.model), c.rate}, {"contention", ratio(1)(f.model), c.contention},
			{"coherency", ratio(2)(f.model), c.coherency}, {"peak", f.peak(), c.peak},
			{"deviation of the rate", f.deviation(one), c.rateDeviation},
			{"deviation of contention", f.deviation(ratio(1)), c.contentionDeviation},
			{"deviation of coherency", f.deviation(ratio(2)), c.coherencyDeviation},
		} {
			if strings.HasPrefix(v.of, "deviation") && v.want == 0 {
				continue // not published
			}
			if v.got != v.want && !(math.Abs(v.got-v.want) <= 0.0015*v.want) {
				t.Errorf("%s: %s is %v, want %v", c.name, v.of, v.got, v.want)
			}
		}
	}
}

// TestConfidence: of 400 fits of noisy points, about 95 % have the true knee in their interval.
func TestConfidence(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	law := rv.ScalabilityFit{RateOfOne: 100, Contention: 0.02, Coherency: 0.0005}
	peak := math.Sqrt((1 - law.Contention) / law.Coherency)
	const runs = 400
	inside := 0
	for range runs {
		var points []Point
		for _, n := range []float64{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128} {
			points = append(points, Point{n, law.At(n) + 15*random.NormFloat64()})
		}
		got, message := describe(points)
		if got == nil || got.Knee == nil {
			t.Fatalf("no knee: %s", message)
		}
		if k := got.Knee; k.ConcurrencyLow <= peak && peak <= k.ConcurrencyHigh && k.RateLow <= law.At(peak) &&
			law.At(peak) <= k.RateHigh {
			inside++
		}
	}
	if inside < runs*86/100 || inside == runs {
		t.Errorf("%d of %d intervals have the knee", inside, runs)
	}
}

// TestKneeIsFinite: a knee whose interval has no bounds is none, because a report could not be written with it.
func TestKneeIsFinite(t *testing.T) {
	for contention, isKnee := range map[float64]bool{0.5: true, 1 - 1e-6: false, 1 - 1e-9: false} {
		k := knee(&fitted{model: model{1, contention, 1e-3}, free: 3, covariance: [3][3]float64{{1e-6}, {0, 1e-6}, {0, 0, 1e-12}}})
		if (k != nil) != isKnee {
			t.Errorf("contention %v: %+v", contention, k)
		}
		if _, err := json.Marshal(k); err != nil {
			t.Errorf("contention %v: %v", contention, err)
		}
	}
}

// TestMessage: what is said of points with a knee, with one beyond them, without one, and without a fit.
func TestMessage(t *testing.T) {
	at := func(law rv.ScalabilityFit, all ...float64) (out []Point) {
		for _, n := range all {
			out = append(out, Point{n, law.At(n)})
		}
		return out
	}
	for _, c := range []struct {
		points []Point
		want   string
		fit    bool
	}{
		{sdm91, "the rate is highest at 96.5 requests in flight (95% confidence: 74.5 to 125): 1884 requests per second (1741 to 2027)", true},
		{at(rv.ScalabilityFit{RateOfOne: 10, Contention: 0.01, Coherency: 0.0001}, 1, 2, 4, 8, 16),
			"this is an extrapolation", true},
		{at(rv.ScalabilityFit{RateOfOne: 10, Contention: 0.1}, 1, 2, 4, 8, 16),
			"the rate fall; contention limits it to 100 requests per second", true},
		{at(rv.ScalabilityFit{RateOfOne: 10}, 1, 2, 4, 8, 16),
			"no knee: the points do not show that more requests in flight make the rate fall", true},
		{[]Point{{2, 823}, {8, 2791}, {32, 8614}, {128, 33796}, {512, 170299}, {1000, 242367}},
			"the rate is highest at 1425 requests in flight (95% confidence: 1052 to 1931)", true}, // contention is 0
		{[]Point{{1, 10}, {2, 90}, {3, 10}, {4, 80}, {5, 20}, {6, 100}}, "of the highest rate; at most 5% is accepted",
			false},
		{[]Point{{1, 10}, {1, 11}, {1, 10}, {1, 11}, {1, 10}}, "no", true},
	} {
		got, message := describe(c.points)
		if !strings.Contains(message, c.want) || strings.Contains(message, "NaN") || (got != nil) != c.fit {
			t.Errorf("%v: %+v %q, want %q", c.points, got, message, c.want)
		}
	}
}

// probe is a probe of 10 seconds that asks for a rate and has a mean response time in microseconds.
func probe(rate, mean int64) rv.ProbeResult {
	return rv.ProbeResult{Load: rate, Outcome: rv.ProbeHeld, Achieved: float64(rate), Sent: 10 * rate,
		Succeeded:    10 * rate,
		ResponseTime: rv.Times{Count: 10 * rate, Mean: mean}}
}

// TestOfSearch: the points are those of probes in a steady state. Five are needed.
func TestOfSearch(t *testing.T) {
	s := &rv.SearchResult{}
	for _, n := range []int64{100, 400, 1600, 2000, 2200} {
		s.Probes = append(s.Probes, probe(n, 1_000_000/(2500-n)))
	}
	settling, unanswered, late := probe(2400, 300_000), probe(2300, 5000), probe(2300, 5000)
	unanswered.ResponseTime.Unanswered, late.Outcome = 300, rv.ProbeGeneratorBound
	s.Probes = append(s.Probes, settling, unanswered, late)
	got := Of(&rv.Plan{}, &rv.Report{Search: s})
	if len(got.Points) != 5 || got.Fit == nil || got.Points[0].Of != "probe 1" || got.Points[0].Rate != 100 ||
		math.Abs(got.Points[0].Concurrency-100*0.000416) > 1e-9 {
		t.Errorf("%+v", got)
	}
	s.Probes = s.Probes[1:]
	if got = Of(&rv.Plan{}, &rv.Report{Search: s}); got.Fit != nil || !strings.HasPrefix(got.Message,
		"no fit: 4 of 6 loads have a steady state") {
		t.Errorf("%+v", got)
	}
	s.Concurrency = true // a closed loop is always in a steady state
	if got = Of(&rv.Plan{}, &rv.Report{Search: s}); len(got.Points) != 5 {
		t.Errorf("%+v", got)
	}
}

// TestOfStages: the points are the measured stages, and windows of ramps. Chains with stages of their own have none.
func TestOfStages(t *testing.T) {
	zero, h := int64(0), histogram.New()
	h.RecordN(2000, 50)
	plan := &rv.Plan{Rates: []rv.Rate{{WarmUp: true}, {RampFrom: &zero, Duration: time.Minute}}}
	r := &rv.Report{Stages: []rv.StageResult{{Name: "warm", WarmUp: true}, {Name: "up"}}}
	for i := range int64(62) {
		r.Windows = append(r.Windows, rv.Window{From: 1000 * i, To: 1000 * (i + 1), Stage: "up", Succeeded: 50,
			Histogram: h.Encode()})
	}
	for i := range 4 {
		plan.Rates = append(plan.Rates, rv.Rate{ClosedLoop: true})
		n := int64(i + 1)
		r.Stages = append(r.Stages, rv.StageResult{Name: "step", Sent: 1000 * n, Achieved: float64(100 * n),
			Figures: &rv.StageFigures{
				Done: 1000 * n, Succeeded: 1000 * n, ResponseTime: rv.Times{Count: 1000 * n, Mean: 10_000}}})
	}
	got := Of(plan, r)
	if len(got.Points) != mostOfRamp+4 || got.Points[0].Rate != 50 || math.Abs(got.Points[0].Concurrency-0.1) > 1e-3 ||
		math.Abs(got.Points[mostOfRamp].Concurrency-1) > 1e-9 {
		t.Errorf("%+v", got)
	}
	r.Verdict.Reason = verdict.ReasonGeneratorBound
	if got = Of(plan, r); got.Fit != nil || got.Message != "no fit: the generator was the bottleneck" {
		t.Errorf("%+v", got)
	}
	r.Windows = nil
	if got = Of(plan, r); got != nil {
		t.Errorf("four stages: %+v", got)
	}
	r.Stages[3].Chain = "own"
	if got = Of(plan, r); got != nil {
		t.Errorf("stages of a chain: %+v", got)
	}
}
