package tally

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/message"
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
	at   int64
	// whole: the header was gathered.
	whole bool
}

// SampleFailed takes a sample of a failed response of a measured request, if it is wanted.
func (r *Recorder) SampleFailed(q *book.Request, in *chain.Instance, failed string, now int64) {
	if r.measured(q) {
		s := &r.program.Steps[q.Step]
		r.sample(q, in, failed, "", q.Sampled || s.WantHeaders && s.Inspect, now)
	}
}

// SampleUnanswered takes a sample of a measured request without a whole response, if it has a traceparent and the
// sample is wanted. There is nothing else to show.
func (r *Recorder) SampleUnanswered(q *book.Request, in *chain.Instance, outcome string, now int64) {
	if r.program.Steps[q.Step].Traced() && r.measured(q) {
		r.sample(q, in, "", outcome, true, now)
	}
}

// sample takes a sample if it is wanted: there are fewer than MaxSamplesAlike of this failure, or it is better than one
// of them. A whole response is better, then a trace with the sampled flag.
func (r *Recorder) sample(q *book.Request, in *chain.Instance, failed, outcome string, whole bool, now int64) {
	l := r.samples
	traced := false
	if s := &r.program.Steps[q.Step]; s.Traced() {
		_, traced = s.Trace(in)
	}
	alike, incomplete, unsampled := 0, -1, -1
	for i := range l.taken {
		t := &l.taken[i]
		if t.step != q.Step || t.Status != int(q.Status) || t.Check != failed || t.Outcome != outcome {
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
		l.taken[incomplete] = r.newSample(q, in, failed, outcome, whole, now)
	case incomplete >= 0:
		return
	case alike < rv.MaxSamplesAlike && len(l.taken) < rv.MaxSamples:
		l.taken = append(l.taken, r.newSample(q, in, failed, outcome, whole, now))
	case traced && unsampled >= 0:
		l.taken[unsampled] = r.newSample(q, in, failed, outcome, l.taken[unsampled].whole, now)
	default:
		return
	}
	l.want(q.Step, len(r.program.Steps))
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

// WantsSample returns whether a request of a step gathers the whole response for a sample.
func (r *Recorder) WantsSample(step int32) bool {
	return r.samples.wanted != nil && r.samples.wanted[step]
}

func (r *Recorder) newSample(q *book.Request, in *chain.Instance, failed, outcome string, whole bool,
	now int64) sample {
	s := &r.program.Steps[q.Step]
	out := sample{step: q.Step, at: now, whole: whole, Sample: rv.Sample{
		Chain: r.program.Chains[in.Chain].Name, Step: s.Name, Check: failed, Status: int(q.Status), Outcome: outcome,
	}}
	if s.Traced() {
		out.Trace = traceOf(s.Trace(in))
	}
	if x := q.Exchange; x != nil && outcome == "" {
		out.Header = sampleHeader(x.Response)
		out.Body, out.BodySize = sampleBody(x.Response.Body), x.BodySize
	}
	return out
}

func sampleHeader(m *message.Message) (out []rv.SampleField) {
	left := rv.MaxSampleOctets
	for _, f := range m.Fields {
		name, value := string(f.Name), string(f.Value)
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

// SampleSlow notes a measured request with a traceparent and a whole response, if it is one of the slowest.
func (r *Recorder) SampleSlow(q *book.Request, in *chain.Instance, now int64) {
	l := &r.samples.slow
	x := slowRequest{at: now, response: now - q.Due, step: q.Step, status: q.Status}
	if x.response+1<<62 <= l.floor || !r.measured(q) {
		return
	}
	if x.trace, x.sampled = r.program.Steps[q.Step].Trace(in); x.rank() > l.floor {
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

// Slowest returns the slowest requests with a traceparent, with times since an instant.
func (r *Recorder) Slowest(at int64) (out []rv.SlowRequest) {
	for _, x := range r.samples.slow.taken[:r.samples.slow.n] {
		s := &r.program.Steps[x.step]
		out = append(out, rv.SlowRequest{
			Chain: r.program.Chains[s.Chain].Name, Step: s.Name, Status: int(x.status),
			At: (x.at - at) / 1e6, ResponseTime: x.response / 1000, Trace: traceOf(x.trace, x.sampled),
		})
	}
	return out
}

// Samples returns a copy of the samples, with times since an instant.
func (r *Recorder) Samples(at int64) (out []rv.Sample) {
	for _, x := range r.samples.taken {
		x.At = (x.at - at) / 1e6
		out = append(out, x.Sample)
	}
	return out
}
