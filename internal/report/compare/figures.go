package compare

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Unit of a figure.
type Unit string

// Units. The unit of an observation is that of its report.
const (
	Microseconds Unit = "us"
	PerSecond    Unit = "1/s"
	Ratio        Unit = "ratio"
	Count        Unit = "Count"
)

// Result is the result of one figure.
type Result string

// Results.
const (
	// Within: B differs from A by at most the tolerance.
	Within Result = "Within"
	Better Result = "Better"
	Worse  Result = "Worse"
	// NotJudged: the figure is for information, or it depends on too few requests.
	NotJudged Result = "NotJudged"
)

// Figure is one figure of both runs: of a step, of a target, or of the whole run.
type Figure struct {
	// Step is "chain/step".
	Step string `json:"step,omitempty"`
	// Target is the name of a target.
	Target string `json:"target,omitempty"`
	// Listener is the name of a listener, for figures of notifications.
	Listener string `json:"listener,omitempty"`
	// Observation is the name of an observation and, after a blank, the label of its series.
	Observation string `json:"observation,omitempty"`
	// Name of the figure, for example "response time p99".
	Name string `json:"name"`
	Unit Unit   `json:"unit"`
	// A and B are the values. Absent: the run did not measure the figure. A percentile among requests without a response
	// is greater than every measured time.
	A *float64 `json:"a,omitempty"`
	B *float64 `json:"b,omitempty"`
	// Change is (B - A) / A for a time and a rate, and B - A for a ratio. Absent: A or B is absent or has no response, or
	// A is 0.
	Change *float64 `json:"change,omitempty"`
	Result Result   `json:"result"`
}

// MarshalJSON implements json.Marshaler. A percentile among requests without a response is a text such as "> 5s".
func (f Figure) MarshalJSON() ([]byte, error) {
	type plain Figure
	if f.Unit != Microseconds || !above(f.A) && !above(f.B) {
		return json.Marshal(plain(f))
	}
	return json.Marshal(struct {
		plain
		A any `json:"a,omitempty"`
		B any `json:"b,omitempty"`
	}{plain(f), f.value(f.A), f.value(f.B)})
}

// value returns nil, the number, or a text for a number that no request had.
func (f *Figure) value(v *float64) any {
	switch {
	case v == nil:
		return nil
	case above(v):
		return f.Format(v)
	}
	return *v
}

// above reports whether a time is that of a request without a response.
func above(us *float64) bool {
	if us == nil {
		return false
	}
	_, is := rv.LimitOf(int64(*us))
	return is
}

// minSlower is how many requests must be slower than a percentile in both runs. With fewer, the percentile differs
// too much between equal runs. Example: p99 needs 1,000 requests.
const minSlower = 10

// percentile is one of the values of Times.
type percentile struct {
	name  string
	q     float64
	value func(*rv.Times) int64
}

var percentiles = []percentile{
	{"p50", 0.5, func(t *rv.Times) int64 { return t.P50 }},
	{"p90", 0.9, func(t *rv.Times) int64 { return t.P90 }},
	{"p95", 0.95, func(t *rv.Times) int64 { return t.P95 }},
	{"p99", 0.99, func(t *rv.Times) int64 { return t.P99 }},
	{"p99.9", 0.999, func(t *rv.Times) int64 { return t.P999 }},
	{"max", 1, func(t *rv.Times) int64 { return t.Max }},
}

// mainPercentiles are the percentiles of steps and of the times that are for information.
var mainPercentiles = []percentile{percentiles[0], percentiles[1], percentiles[3]}

// phaseTimes are the percentiles of the phases of targets.
var phaseTimes = []percentile{percentiles[0], percentiles[3]}

// set collects the figures of one step, of one target, or of the whole run.
type set struct {
	step, target, listener string
	// mix: a run is a search, so the figures are of all its loads together and are not judged.
	mix bool
	o   Options
	out []Figure
}

// figures returns the figures of the whole run, and those of each step that both runs have.
func figures(a, b *rv.Report, o Options) []Figure {
	s := set{o: o}
	s.highest(a.Search, b.Search)
	s.mix = a.Search != nil || b.Search != nil
	s.rate(a, b)
	s.errors("error rate", 1-succeeded(a), 1-succeeded(b))
	s.errors("aborted chains", aborted(a), aborted(b))
	s.times("response time", percentiles, &a.ResponseTime, &b.ResponseTime, true)
	s.times("service time", mainPercentiles, &a.ServiceTime, &b.ServiceTime, false)
	s.times("first byte", mainPercentiles, &a.TimeToFirstByte, &b.TimeToFirstByte, false)
	s.times("lag", mainPercentiles, &a.Lag, &b.Lag, false)
	for _, pair := range steps(a, b) {
		if pair.a == nil || pair.b == nil {
			continue
		}
		s.step = pair.name
		s.errors("error rate", stepErrors(pair.a), stepErrors(pair.b))
		s.times("response time", mainPercentiles, &pair.a.ResponseTime, &pair.b.ResponseTime, true)
	}
	s.step = ""
	s.notifications(a, b)
	s.phases(a, b)
	s.observations(a, b)
	return s.out
}

// notifications adds the figures of each listener that both runs have.
func (s *set) notifications(a, b *rv.Report) {
	for i := range a.Listeners {
		k := slices.IndexFunc(b.Listeners, func(l rv.ListenerResult) bool { return l.Name == a.Listeners[i].Name })
		if k < 0 {
			continue
		}
		x, y := &a.Listeners[i], &b.Listeners[k]
		s.listener = x.Name
		s.errors("error rate", notificationErrors(x), notificationErrors(y))
		s.times("notification time", mainPercentiles, &x.Time, &y.Time, true)
	}
	s.listener = ""
}

// phases adds the times of each target that both runs have. They are for information.
func (s *set) phases(a, b *rv.Report) {
	for i := range a.Targets {
		k := slices.IndexFunc(b.Targets, func(t rv.TargetResult) bool { return t.Name == a.Targets[i].Name })
		if k < 0 {
			continue
		}
		x, y := &a.Targets[i], &b.Targets[k]
		s.target = x.Name
		for _, phase := range []struct {
			name string
			a, b *rv.Times
		}{
			{"name resolution", &x.NameResolution, &y.NameResolution}, {"TCP connect", &x.TCPConnect, &y.TCPConnect},
			{"TLS handshake", &x.TLSHandshake, &y.TLSHandshake}, {"SETTINGS", &x.Settings, &y.Settings},
			{"reconnecting", &x.Reconnecting, &y.Reconnecting}, {"blocked", &x.Blocked, &y.Blocked},
			{"first byte", &x.TimeToFirstByte, &y.TimeToFirstByte}, {"body", &x.Body, &y.Body},
		} {
			s.times(phase.name, phaseTimes, phase.a, phase.b, false)
		}
	}
}

// succeeded, aborted and stepErrors are NaN if there is nothing to divide by.
func succeeded(r *rv.Report) float64 {
	return float64(r.Requests.Succeeded) / float64(r.Requests.Sent+r.Requests.Dropped)
}

func aborted(r *rv.Report) float64 {
	return float64(r.Chains.Aborted) / float64(r.Chains.Aborted+r.Chains.Completed)
}

func stepErrors(s *rv.StepResult) float64 { return 1 - float64(s.Succeeded)/float64(s.Sent) }

// notificationErrors is NaN, too, if nothing was awaited.
func notificationErrors(l *rv.ListenerResult) float64 {
	if l.Measured.Awaited == 0 {
		return math.NaN()
	}
	return l.ErrorRate()
}

// rate is not judged if the runs asked for different rates.
func (s *set) rate(a, b *rv.Report) {
	f := Figure{Name: "rate", Unit: PerSecond, A: achieved(a), B: achieved(b)}
	s.add(f, sameRate(&a.Rate, &b.Rate), func(a, b float64) (float64, float64) {
		return a - b, a * s.o.Tolerance
	})
}

func achieved(r *rv.Report) *float64 {
	if r.Rate.WindowSeconds <= 0 {
		return nil
	}
	return &r.Rate.Achieved
}

// sameRate returns whether two runs asked for the same rate, of requests or of chain instances.
func sameRate(a, b *rv.RateResult) bool {
	return nearly(a.Asked, b.Asked) && nearly(a.AskedChains, b.AskedChains)
}

// nearly allows for the measured length of a stage, over which the asked rate is averaged.
func nearly(a, b float64) bool { return math.Abs(a-b) <= 0.001*max(a, b) }

func (s *set) errors(name string, a, b float64) {
	f := Figure{Step: s.step, Listener: s.listener, Name: name, Unit: Ratio, A: known(a), B: known(b)}
	s.add(f, true, func(a, b float64) (float64, float64) { return b - a, s.o.ErrorTolerance })
}

// known returns nil for NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

func (s *set) times(name string, of []percentile, a, b *rv.Times, judged bool) {
	for _, p := range of {
		f := Figure{Step: s.step, Target: s.target, Listener: s.listener, Name: name + " " + p.name, Unit: Microseconds,
			A: p.of(a), B: p.of(b)}
		enough := p.slower(a) && (p.slower(b) || b.Count == 0)
		s.add(f, judged && enough, func(a, b float64) (float64, float64) { return b - a, a * s.o.Tolerance })
	}
}

func (p *percentile) of(t *rv.Times) *float64 {
	if t.Count == 0 {
		return nil
	}
	v := float64(p.value(t))
	return &v
}

// slower reports whether at least minSlower values are above the percentile. 1 - q is rounded, because 1 - 0.99 is
// less than 0.01.
func (p *percentile) slower(t *rv.Times) bool {
	return math.Round(float64(t.Count)*(1-p.q)*1000)/1000 >= minSlower
}

// add judges a figure. Difference returns how much worse B is than A, and the tolerance, in the unit of the figure.
func (s *set) add(f Figure, judged bool, difference func(a, b float64) (worse, allowed float64)) {
	f.Result = NotJudged
	judged = judged && !s.mix
	switch {
	case f.A == nil && f.B == nil:
		return
	case f.A == nil:
	case f.B == nil:
		if judged {
			f.Result = Worse // B did not get that far
		}
	default:
		f.Change = change(f.Unit, *f.A, *f.B)
		if judged {
			f.Result = judge(difference(*f.A, *f.B))
		}
	}
	s.out = append(s.out, f)
}

// rounding is the error of a difference of two floating-point numbers: 0.003 - 0.002 is more than 0.001.
const rounding = 1e-12

func judge(worse, allowed float64) Result {
	switch allowed += rounding * max(1, math.Abs(worse)); {
	case worse > allowed:
		return Worse
	case -worse > allowed:
		return Better
	}
	return Within
}

func change(u Unit, a, b float64) *float64 {
	d := b - a
	if u == Microseconds && (above(&a) || above(&b)) {
		return nil
	}
	if u != Ratio {
		if a == 0 {
			return nil
		}
		d /= a
	}
	return &d
}

// pair is a step of both runs. A or b is nil if the run does not have the step.
type pair struct {
	name string
	a, b *rv.StepResult
}

// steps returns the steps of the load in the order of A, followed by those that only B has.
func steps(a, b *rv.Report) []pair {
	var out []pair
	at := map[string]int{}
	for i := range a.Steps {
		if s := &a.Steps[i]; s.Phase == rv.PhaseLoad {
			at[stepName(s)] = len(out)
			out = append(out, pair{name: stepName(s), a: s})
		}
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		if s.Phase != rv.PhaseLoad {
			continue
		}
		if k, ok := at[stepName(s)]; ok {
			out[k].b = s
			continue
		}
		out = append(out, pair{name: stepName(s), b: s})
	}
	return out
}

func stepName(s *rv.StepResult) string { return s.Chain + "/" + s.Step }

// Of returns the step, or "target", "listener" or "observation" and its name; "": the whole run.
func (f *Figure) Of() string {
	if f.Target != "" {
		return "target " + f.Target
	}
	if f.Listener != "" {
		return "listener " + f.Listener
	}
	if f.Observation != "" {
		return "observation " + f.Observation
	}
	return f.Step
}

// String returns "app/create response time p99 8.42ms -> 12ms (+42.5%)".
func (f *Figure) String() string {
	out := f.Name
	if of := f.Of(); of != "" {
		out = of + " " + f.Name
	}
	out += " " + f.Format(f.A) + " -> " + f.Format(f.B)
	if f.Change != nil {
		out += " (" + f.FormatChange() + ")"
	}
	return out
}

// Format writes a value of the figure. Nil is "none".
func (f *Figure) Format(v *float64) string {
	switch {
	case v == nil:
		return rv.ObservedNone
	case f.Unit == Microseconds:
		return build.FormatTime(int64(*v))
	case f.Unit == Ratio:
		return build.FormatPercent(*v)
	case f.Unit == PerSecond:
		return build.FormatRate(*v) + "/s"
	}
	return build.FormatValue(*v, string(f.Unit))
}

// FormatChange writes "+42.5%", and "+0.4 points" for a ratio: percentage points. It is "-" if there is no change to
// show.
func (f *Figure) FormatChange() string {
	if f.Change == nil {
		return "-"
	}
	if f.Unit == Ratio {
		return signed(*f.Change*100, 4) + " points"
	}
	return signed(*f.Change*100, 1) + "%"
}

// signed has a sign unless the rounded value is 0.
func signed(v float64, decimals int) string {
	scale := math.Pow10(decimals)
	v = math.Round(v*scale) / scale
	switch {
	case v > 0:
		return "+" + strconv.FormatFloat(v, 'f', -1, 64)
	case v < 0:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return "0"
}
