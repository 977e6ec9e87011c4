package loop

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/runner/chain"
)

// samples are a few failed responses. A step whose response fails has nothing but the status and an error's body;
// then its next requests gather the header, too, until a sample has it. When there are enough samples, failed
// responses cost no more than a look at the list.
type samples struct {
	taken []sample
	// wanted says of each step that its requests gather the whole response for a sample.
	wanted []bool
	slow   slowest
}

type sample struct {
	rv.Sample
	step int32
	// whole: the header was gathered.
	whole bool
}

// sampleFailed takes a sample of a failed response of a measured request, if it is wanted.
func (w *Worker) sampleFailed(r *request, s *chain.Step, failed string) {
	if w.measured(r) {
		w.sample(r, s, failed, "", r.sampled || s.WantHeaders && s.Inspect)
	}
}

// sampleUnanswered takes a sample of a measured request without a whole response, if it has a traceparent and the sample
// is wanted. There is nothing else to show.
func (w *Worker) sampleUnanswered(r *request, outcome string) {
	if s := &w.program.Steps[r.step]; s.Traced() && w.measured(r) {
		w.sample(r, s, "", outcome, true)
	}
}

// sample takes a sample if it is wanted: there are fewer than MaxSamplesAlike of this failure, or it is better than one of
// them. A whole response is better, then a trace with the sampled flag.
func (w *Worker) sample(r *request, s *chain.Step, failed, outcome string, whole bool) {
	l := &w.requests.samples
	traced := false
	if s.Traced() {
		_, traced = s.Trace(&w.chains.all[r.instance].Instance)
	}
	alike, incomplete, unsampled := 0, -1, -1
	for i := range l.taken {
		t := &l.taken[i]
		if t.step != r.step || t.Status != int(r.status) || t.Check != failed || t.Outcome != outcome {
			continue
		}
		alike++
		if !t.whole {
			incomplete = i
		}
		if !t.TraceSampled {
			unsampled = i
		}
	}
	switch {
	case incomplete >= 0 && whole:
		l.taken[incomplete] = w.newSample(r, s, failed, outcome, whole)
	case incomplete >= 0:
		return
	case alike < rv.MaxSamplesAlike && len(l.taken) < rv.MaxSamples:
		l.taken = append(l.taken, w.newSample(r, s, failed, outcome, whole))
	case traced && unsampled >= 0:
		l.taken[unsampled] = w.newSample(r, s, failed, outcome, l.taken[unsampled].whole)
	default:
		return
	}
	l.want(r.step, len(w.program.Steps))
}

// want finds out whether a step still lacks a whole sample.
func (l *samples) want(step int32, steps int) {
	if l.wanted == nil {
		l.wanted = make([]bool, steps)
	}
	l.wanted[step] = false
	for i := range l.taken {
		l.wanted[step] = l.wanted[step] || l.taken[i].step == step && !l.taken[i].whole
	}
}

// wantsWhole says that a request of the step gathers the whole response.
func (l *samples) wantsWhole(step int32) bool { return l.wanted != nil && l.wanted[step] }

func (w *Worker) newSample(r *request, s *chain.Step, failed, outcome string, whole bool) sample {
	in := w.chains.all[r.instance]
	out := sample{step: r.step, whole: whole, Sample: rv.Sample{
		Chain: w.program.Chains[in.Chain].Name, Step: w.program.Steps[r.step].Name,
		Check: failed, Status: int(r.status), Outcome: outcome, At: (w.now - w.schedules.startAt) / 1e6,
	}}
	if s.Traced() {
		out.Trace = traceOf(s.Trace(&in.Instance))
	}
	if x := r.exchange; x != nil && outcome == "" {
		out.Header = sampleHeader(x)
		out.Body, out.BodySize = sampleBody(x.body), x.BodySize
	}
	return out
}

func sampleHeader(x *exchange) (out []rv.SampleField) {
	left := rv.MaxSampleOctets
	for i := range x.fields {
		n, v := x.header(i)
		name, value := string(n), string(v)
		if mask.IsSecret(name) {
			value = mask.Hidden
		}
		value = mask.Text(strings.ToValidUTF8(value, string(utf8.RuneError)))
		if left -= len(name) + len(value); left < 0 {
			break
		}
		out = append(out, rv.SampleField{Name: name, Value: value})
	}
	return out
}

// sampleBody masks before it cuts, so that half of a secret is not left.
func sampleBody(body []byte) string {
	s := mask.Text(string(bytes.ToValidUTF8(body[:min(len(body), 4*rv.MaxSampleOctets)], []byte(string(utf8.RuneError)))))
	return strings.ToValidUTF8(s[:min(len(s), rv.MaxSampleOctets)], "")
}

// sampleOctets bounds what is kept of a header for a sample.
const sampleOctets = 4 * rv.MaxSampleOctets

// gatherField keeps a header field of a response that a sample may be made of.
func (w *Worker) gatherField(r *request, name, value []byte) {
	if r.exchange == nil {
		r.exchange = w.requests.exchanges.alloc(causeLimit)
	}
	if len(r.exchange.octets)+len(name)+len(value) <= sampleOctets {
		w.requests.exchanges.field(r.exchange, name, value)
	}
}

func traceOf(id [16]byte, sampled bool) rv.Trace {
	return rv.Trace{TraceID: hex.EncodeToString(id[:]), TraceSampled: sampled}
}

// slowRequest is a candidate for the slowest requests of a worker.
type slowRequest struct {
	at, response int64
	trace        [16]byte
	step         int32
	status       int16
	sampled      bool
}

// rank is the response time in nanoseconds. Requests whose trace is sampled rank above all others.
func (s *slowRequest) rank() int64 {
	if s.sampled {
		return s.response + 1<<62
	}
	return s.response
}

// slowest are the slowest requests with a traceparent.
type slowest struct {
	taken [rv.MaxSlowest]slowRequest
	n     int
	// lowest is the index of the lowest rank if taken is full, and floor is its rank. Otherwise floor is 0.
	lowest int
	floor  int64
}

// sampleSlow notes a measured request with a traceparent and a whole response, if it is one of the slowest.
func (w *Worker) sampleSlow(r *request, s *chain.Step) {
	l := &w.requests.samples.slow
	x := slowRequest{at: w.now, response: w.now - r.due, step: r.step, status: r.status}
	if x.response+1<<62 <= l.floor || !w.measured(r) {
		return
	}
	if x.trace, x.sampled = s.Trace(&w.chains.all[r.instance].Instance); x.rank() > l.floor {
		l.add(&x)
	}
}

func (l *slowest) add(x *slowRequest) {
	if l.n < len(l.taken) {
		l.taken[l.n] = *x
		l.n++
	} else {
		l.taken[l.lowest] = *x
	}
	if l.n < len(l.taken) {
		return
	}
	l.lowest = 0
	for i := range l.taken {
		if l.taken[i].rank() < l.taken[l.lowest].rank() {
			l.lowest = i
		}
	}
	l.floor = l.taken[l.lowest].rank()
}

// Slowest returns the slowest requests with a traceparent.
func (w *Worker) Slowest() (out []rv.SlowRequest) {
	for _, x := range w.requests.samples.slow.taken[:w.requests.samples.slow.n] {
		s := &w.program.Steps[x.step]
		out = append(out, rv.SlowRequest{
			Chain: w.program.Chains[s.Chain].Name, Step: s.Name, Status: int(x.status),
			At: (x.at - w.schedules.startAt) / 1e6, ResponseTime: x.response / 1000, Trace: traceOf(x.trace, x.sampled),
		})
	}
	return out
}

// Samples returns a copy of the samples.
func (w *Worker) Samples() (out []rv.Sample) {
	for i := range w.requests.samples.taken {
		out = append(out, w.requests.samples.taken[i].Sample)
	}
	return out
}
