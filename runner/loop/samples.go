package loop

import (
	"bytes"
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
}

type sample struct {
	rv.Sample
	step int32
	// whole: the header was gathered.
	whole bool
}

// sampleFailed takes a sample of a failed response of a measured request, if it is wanted.
func (w *Worker) sampleFailed(r *request, s *chain.Step, failed string) {
	if failed == "" || !w.measured(r) {
		return
	}
	l := &w.requests.samples
	alike, at := 0, -1
	for i := range l.taken {
		t := &l.taken[i]
		if t.step == r.step && t.Status == int(r.status) && t.Check == failed {
			alike++
			if !t.whole {
				at = i
			}
		}
	}
	whole := r.sampled || s.WantHeaders && s.Inspect
	switch {
	case at >= 0 && whole:
		l.taken[at] = w.newSample(r, failed, whole)
	case at < 0 && alike < rv.MaxSamplesAlike && len(l.taken) < rv.MaxSamples:
		l.taken = append(l.taken, w.newSample(r, failed, whole))
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

func (w *Worker) newSample(r *request, failed string, whole bool) sample {
	in := w.chains.all[r.instance]
	out := sample{step: r.step, whole: whole, Sample: rv.Sample{
		Chain: w.program.Chains[in.Chain].Name, Step: w.program.Steps[r.step].Name,
		Check: failed, Status: int(r.status), At: (w.now - w.schedule.startAt) / 1e6,
	}}
	if x := r.exchange; x != nil {
		out.Header = sampleHeader(x)
		out.Body, out.BodySize = sampleBody(x.body), x.BodySize
	}
	return out
}

func sampleHeader(x *exchange) (out []rv.SampleField) {
	left := rv.MaxSampleOctets
	for _, f := range x.fields {
		name, value := string(x.octets[f.name:f.value]), string(x.octets[f.value:f.end])
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
		r.exchange.field(name, value)
	}
}

// Samples returns a copy of the samples.
func (w *Worker) Samples() (out []rv.Sample) {
	for i := range w.requests.samples.taken {
		out = append(out, w.requests.samples.taken[i].Sample)
	}
	return out
}
