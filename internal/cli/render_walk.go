package cli

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/script"
)

// renderer goes through chains as a worker does that is alone, and gets no responses.
type renderer struct {
	standIns
	plan    *rv.Plan
	targets []rv.Target // with the names that files have in runner pods
	program *chain.Program
	share   rv.Share
	sources *chain.Sources
	scripts *script.Host // nil without scripts
	wall    int64        // nanoseconds since 1970
	step    string       // the only one to show; empty: all

	instance chain.Instance
	started  int
	// previous is the last request of the instance; nil: there is not one.
	previous *message.Message
	// counts are the requests by target, which take its connections in turn.
	counts map[int]int
	out    []rendered
}

// rendered is a request as it would be sent, or the error that prevents it.
type rendered struct {
	// Instance counts the chain instances from 1.
	Instance   int             `json:"instance"`
	Chain      string          `json:"chain"`
	Phase      rv.Phase        `json:"phase,omitempty"`
	Step       string          `json:"step"`
	Target     string          `json:"target"`
	Connection int             `json:"connection"`
	HTTP       string          `json:"http,omitempty"`
	Method     string          `json:"method,omitempty"`
	URL        string          `json:"url,omitempty"`
	Fields     []renderedField `json:"fields,omitempty"`
	Body       string          `json:"body,omitempty"`
	// BodyBase64 is a body that is not text.
	BodyBase64 string   `json:"bodyBase64,omitempty"`
	Notes      []string `json:"notes,omitempty"`
	Skipped    bool     `json:"skipped,omitempty"`
	Error      string   `json:"error,omitempty"`

	endpoint *rv.Endpoint
	tls      *rv.TLS
}

// renderedField is a header field in its place; the pseudo-header fields of HTTP/2 are among them.
type renderedField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// run renders setup, instances of load chains, and teardown. The weighted round robin selects the chains; it may
// end before count.
func (r *renderer) run(count int) {
	r.once(rv.PhaseSetup)
	order := chain.NewWeightedRoundRobin(r.program, nil)
	for range count {
		c := order.Next(func(c int) bool { return !r.program.Chains[c].Ends || !r.sources.Ended(c) })
		if c < 0 {
			break
		}
		r.begin(c)
	}
	r.once(rv.PhaseTeardown)
}

func (r *renderer) once(phase rv.Phase) {
	for i := range r.program.Chains {
		if r.share.Once && r.program.Chains[i].Phase == phase {
			r.begin(i)
		}
	}
}

func (r *renderer) begin(c int) {
	r.started++
	r.previous = nil
	r.instance.Start(r.program, c, r.sources, r.wall)
	first := r.program.Chains[c].First
	for j := range r.plan.Chains[c].Steps {
		s, in := &r.program.Steps[first+j], &r.plan.Chains[c].Steps[j]
		if s.Await == nil {
			out := r.render(s, in)
			if r.step == "" || r.step == s.Name {
				r.out = append(r.out, out)
			}
			if out.Skipped {
				continue
			}
		}
		for _, capture := range in.Capture {
			name := r.plan.Chains[c].Captures[capture.Slot]
			r.instance.Capture(capture.Slot, []byte(r.of(fmt.Sprintf("capture %s of step %s", name, s.Name))))
		}
	}
}

func (r *renderer) render(s *chain.Step, in *rv.Step) rendered {
	c, t := &r.program.Chains[s.Chain], &r.program.Targets[s.Target]
	out := rendered{Instance: r.started, Chain: c.Name, Phase: c.Phase, Step: s.Name, Target: t.Name, tls: r.targets[s.Target].TLS}
	unsure := 0
	for i := range in.When {
		switch {
		case readsCaptures(&in.When[i]):
			unsure++
		case !r.program.Holds(s.When[i:i+1], &r.instance, r.sources):
			out.Skipped = true
			return out
		}
	}
	out.Notes = r.notes(s, in, unsure)
	r.instance.BeginStep(r.program, s, r.sources, r.wall)
	out.Connection = r.share.FirstConnection[s.Target] + r.counts[s.Target]%r.share.Connections[s.Target]
	r.counts[s.Target]++
	out.endpoint = &t.Endpoints[out.Connection%len(t.Endpoints)]
	if err := r.request(s, t, &out); err != nil {
		out.Error = r.show(OneLine(err.Error()))
	}
	return out
}

// readsCaptures reports whether a condition reads captured values, which are unknown here.
func readsCaptures(c *rv.Condition) bool {
	found := false
	eachPart(reflect.ValueOf(c), func(p *rv.Part) { found = found || p.Capture > 0 || p.Global > 0 })
	return found
}

func (r *renderer) notes(s *chain.Step, in *rv.Step, unsure int) (out []string) {
	if unsure > 0 {
		out = append(out, "sent only when its conditions on captured values hold")
	}
	if in.Repeat > 1 && len(in.Until) > 0 {
		out = append(out, fmt.Sprintf("sent up to %d times", in.Repeat))
	} else if in.Repeat > 1 {
		out = append(out, fmt.Sprintf("sent %d times", in.Repeat))
	}
	if in.Group > 0 {
		out = append(out, "sent at the same time as its neighbours")
	}
	if s.Cookies && r.previous != nil && !s.ClearCookies {
		out = append(out, "with the cookies that responses have set")
	}
	if r.makes(s) && r.previous != nil {
		out = append(out, "its script was given an empty previous response of status 200")
	}
	return out
}

func (r *renderer) makes(s *chain.Step) bool {
	return s.Script >= 0 && r.program.Scripts[s.Script].Makes()
}

// request renders as a session does: as a message first where something looks at that.
func (r *renderer) request(s *chain.Step, t *rv.Target, out *rendered) error {
	e := out.endpoint
	body := s.AppendBody(nil, r.program, &r.instance)
	var m message.Message
	s.RenderMessage(&m, nil, r.program, &r.instance, e, body, nil)
	whole := s.Inspect && (s.WantRequest || r.makes(s))
	if r.makes(s) {
		if err := r.script(s, &m); err != nil {
			return err
		}
		body = m.Body
	}
	kept := clone(&m)
	r.previous = &kept
	out.Method = r.show(string(m.Method))
	out.URL = r.show(string(m.Scheme) + "://" + string(m.Authority) + string(m.Path))
	r.body(out, body)
	if t.Protocol == rv.ProtocolHTTP1 {
		out.HTTP = "HTTP/1.1"
		h := chain.NewHead(r.program, s.Target, e, !t.HTTP1.NoKeepAlive)
		if whole {
			return r.lines(out, h.AppendMessage(nil, &m, len(body)), string(body))
		}
		return r.lines(out, h.AppendHead(nil, s, &r.instance, len(body), nil), string(body))
	}
	out.HTTP = "HTTP/2"
	if t.Protocol == rv.ProtocolALPN || t.Protocol == rv.ProtocolDiscovered {
		out.Notes = append(out.Notes, "as HTTP/1.1 if the server chooses that")
	}
	enc := chain.NewEncoder(r.program, s.Target, e)
	if whole {
		return r.block(out, enc.AppendMessage(nil, &m, len(body)), string(body))
	}
	block, _ := enc.AppendHeaders(nil, s, &r.instance, len(body), chain.Static, nil)
	return r.block(out, block, string(body))
}

func (r *renderer) script(s *chain.Step, m *message.Message) error {
	var response *message.Message
	if r.previous != nil {
		response = &message.Message{Status: 200}
	}
	return r.scripts.Request(s.Script, r.previous, response, m, &chain.Values{Instance: &r.instance, Step: s})
}

// clone copies what belongs to a script's call.
func clone(m *message.Message) message.Message {
	out := message.Message{
		Method: []byte(string(m.Method)), Scheme: []byte(string(m.Scheme)), Authority: []byte(string(m.Authority)),
		Path: []byte(string(m.Path)), Body: []byte(string(m.Body)),
	}
	for _, f := range m.Fields {
		out.Fields = append(out.Fields, message.Field{Name: []byte(string(f.Name)), Value: []byte(string(f.Value))})
	}
	return out
}

func (r *renderer) body(out *rendered, body []byte) {
	text := string(body)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\r\n\t", c) }) {
		out.BodyBase64 = base64.StdEncoding.EncodeToString(body)
		return
	}
	out.Body = r.show(text)
}

// block adds the fields of a header block (RFC 7541), in the order of the wire.
func (r *renderer) block(out *rendered, block []byte, body string) error {
	fields, err := hpack.NewDecoder(chain.MaxTable, nil).DecodeFull(block)
	for _, f := range fields {
		r.field(out, f.Name, f.Value, body)
	}
	return err
}

// lines adds the fields of a head of HTTP/1.1.
func (r *renderer) lines(out *rendered, head []byte, body string) error {
	for i, line := range strings.Split(strings.TrimSuffix(string(head), "\r\n\r\n"), "\r\n") {
		if i == 0 {
			continue // the request line: method and URL
		}
		name, value, _ := strings.Cut(line, ": ")
		r.field(out, name, value, body)
	}
	return nil
}

func (r *renderer) field(out *rendered, name, value, body string) {
	if name == "content-length" && r.show(body) != body {
		value = "<length of the body>"
	}
	out.Fields = append(out.Fields, renderedField{r.show(name), r.show(value)})
}
