package chain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/message"
)

// call is what a step that calls a method of gRPC knows of the method.
type call struct {
	method *grpc.Method
	schema *grpc.Schema
	// judged: a check of the step reads grpc-status, so that any code can be a success.
	judged bool
}

// encoded is a text that is encoded as a value or a message of Protocol Buffers.
type encoded struct {
	inner text
	as    *grpc.Encoding
}

// schemaOf returns the schema of a target, whose files it reads once; nil: they have a mistake, which is reported.
func (b *builder) schemaOf(target int) *grpc.Schema {
	if s, read := b.schemas[target]; read {
		return s
	}
	var files []grpc.File
	at := b.at
	defer func() { b.at = at }()
	before := len(b.errs)
	for i := range b.g.Targets[target].Protos {
		in := &b.g.Targets[target].Protos[i]
		b.at = rv.Place{List: rv.PlaceTargets, Index: target}.In("protos", i)
		files = append(files, grpc.File{Name: cmp.Or(in.File, fmt.Sprintf("%d.proto", i)), Content: b.read(in)})
	}
	var s *grpc.Schema
	if len(b.errs) == before {
		var err error
		if s, err = grpc.NewSchema(files); err != nil {
			b.at = rv.Place{List: rv.PlaceTargets, Index: target}.In("protos", 0)
			b.fail(err)
		}
	}
	if b.schemas == nil {
		b.schemas = map[int]*grpc.Schema{}
	}
	b.schemas[target] = s
	return s
}

// call builds the body of a call: what is the same in all requests is encoded here.
func (b *builder) call(in *rv.Step, s *Step) (body text) {
	schema := b.schemaOf(in.Target)
	if b.in("grpc"); schema == nil {
		return nil
	}
	method, err := schema.Method(in.GRPC.Service, in.GRPC.Method)
	if err != nil {
		b.fail(err)
		return nil
	}
	b.waits(in.GRPC, method, s)
	s.Deadline = in.GRPC.Deadline == in.Timeout
	s.call = &call{method: method, schema: schema, judged: slices.ContainsFunc(in.Expect.Checks, func(c rv.Check) bool {
		return c.Source != nil && c.Source.Kind == rv.SourceHeader && c.Source.Name == grpc.StatusField
	})}
	var parts []*rv.Part
	var messages [][]byte
	for _, m := range in.GRPC.Messages {
		var marked strings.Builder
		for i := range m {
			if p := &m[i]; p.IsLiteral() {
				marked.WriteString(p.Literal)
			} else {
				marked.WriteString(grpc.Mark(len(parts)))
				parts = append(parts, p)
			}
		}
		messages = append(messages, []byte(marked.String()))
	}
	pieces, err := method.Request(messages, in.GRPC.Gzip)
	if mistake := (*grpc.FieldError)(nil); errors.As(err, &mistake) {
		b.item("grpc", mistake.Message)
	}
	if err != nil {
		b.fail(err)
		return nil
	}
	return b.pieces(pieces, parts)
}

// waits checks the waits between the messages of a call.
func (b *builder) waits(in *rv.GRPC, method *grpc.Method, s *Step) {
	s.Streams, s.Waits = method.Streams(), in.Waits
	before := 0
	for _, w := range in.Waits {
		switch {
		case w.Before < before || w.Before > len(in.Messages) || (w.Answers > 0) == (w.Delay > 0):
			b.failf("a wait before message %d is not possible", w.Before)
		case w.Answers > 0 && !s.Streams:
			b.failf("@wait: %s answers after the last message, so no message can wait for answers", in.Method)
		}
		before = w.Before
	}
}

func (b *builder) pieces(in []grpc.Piece, parts []*rv.Part) (out text) {
	for i := range in {
		p := &in[i]
		if p.As == nil {
			out = out.join(p.Octets)
			continue
		}
		inner := b.pieces(p.Inner, parts)
		literals, placeholders := grpc.Marked(p.Text)
		for j, literal := range literals {
			if inner = inner.join([]byte(literal)); j < len(placeholders) {
				inner = inner.add(b.part(parts[placeholders[j]]))
			}
		}
		if !inner.constant() {
			out = append(out, piece{kind: pieceEncoded, encoded: &encoded{inner: inner, as: p.As}})
			continue
		}
		octets, ok := p.As.Encode([]byte(inner.literal()), 0, new(grpc.Gzip))
		if !ok {
			b.failf("%q is not a value of its field", inner.literal())
		}
		out = out.join(octets)
	}
	return out
}

// appendTo appends the octets. If the text does not fit the field, the request must not be sent.
func (e *encoded) appendTo(dst []byte, in *Instance) []byte {
	at := len(dst)
	dst, ok := e.as.Encode(e.inner.appendTo(dst, in), at, &in.src.gzip)
	in.src.unfit = in.src.unfit || !ok
	return dst
}

// Unfit returns whether the last AppendBody found a value that does not fit its field: its request must not be sent.
func (s *Sources) Unfit() bool { return s.unfit }

const encodingField = "grpc-encoding"

// Calls returns whether the step calls a method of gRPC.
func (s *Step) Calls() bool { return s.call != nil }

// inspectCall makes the step keep the fields of a response.
func (s *Inspection) inspectCall() {
	if !s.Inspect {
		s.inspect()
	}
	s.WantFields, s.WantHeaders = true, true
}

// callFields are the header fields of a call (PROTOCOL-HTTP2.md of gRPC). has are those that the request has itself.
func callFields(in *rv.Step, has map[string]bool) (out []fieldSource) {
	encoding := ""
	if in.GRPC.Gzip {
		encoding = "gzip"
	}
	for _, f := range [][2]string{
		{"te", "trailers"}, {"content-type", "application/grpc"}, {encodingField, encoding},
		{"grpc-accept-encoding", "gzip"}, {"grpc-timeout", grpc.Timeout(cmp.Or(in.GRPC.Deadline, in.Timeout))},
	} {
		if !has[f[0]] && f[1] != "" {
			out = append(out, fieldSource{name: f[0], value: literalText(f[1])})
		}
	}
	return out
}

// finding is the code of a response, for a trial.
func (c *call) finding(x *message.Exchange) Finding {
	status, has := x.Response.Header(grpc.StatusField)
	code, text := grpc.Code(status), string(status)
	if !has {
		text = "there is no " + grpc.StatusField
	}
	if m, _ := x.Response.Header(grpc.MessageField); len(m) > 0 {
		text += ": " + string(m)
	}
	return Finding{Name: code, Passed: code == "OK" || has && c.judged, Found: []byte(text), HasFound: true,
		Want: []byte("0")}
}

// judge returns the name of the code of a call that failed, or of the check that its messages failed, or "". If checks,
// captures or the script of the step read the body, it replaces the body by the messages in JSON, or by the failure. A
// body above MaxBody that only the script of another step reads remains as it is.
func (c *call) judge(s *Step, src *Sources, x *message.Exchange) string {
	status, has := x.Response.Header(grpc.StatusField)
	code := grpc.Code(status)
	switch {
	case !has || code != "OK" && !c.judged:
		return code
	case !s.WantBody:
		return ""
	case code != "OK":
		f := grpc.Failure{Status: status}
		f.Message, _ = x.Response.Header(grpc.MessageField)
		f.Details, _ = x.Response.Header(grpc.DetailsField)
		src.messages = f.AppendJSON(src.messages[:0], c.schema)
	case x.Cut: // Step.Judge has found that the step itself does not need it
		return ""
	default:
		r := grpc.Response{Body: x.Response.Body, Most: s.MaxBody}
		r.Encoding, _ = x.Response.Header(encodingField)
		var err error
		src.messages, err = c.method.AppendJSON(src.messages[:0], r, &src.gzip)
		switch {
		case errors.Is(err, grpc.ErrTooLarge) && !s.needsBody:
			return ""
		case errors.Is(err, grpc.ErrTooLarge):
			return rv.CheckBody
		case err != nil:
			return rv.CheckMessage
		}
	}
	x.Response.Body = src.messages
	return ""
}
