package compile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// call is a parsed call of gRPC.
type call struct {
	path            *field.Path
	service, method string
	messages        []text
	paths           []*field.Path // of messages
	waits           []rv.Wait
	deadline        time.Duration
	gzip            bool
}

// call parses a call; nil: the request is none.
func (c *compiler) call(at *field.Path, in *v1alpha1.GRPC) *call {
	if in == nil {
		return nil
	}
	out := &call{path: at, service: in.Service, method: in.Method, gzip: in.Compression == v1alpha1.CompressionGzip}
	if in.Deadline != nil {
		out.deadline = in.Deadline.Duration
	}
	message := func(at *field.Path, raw []byte) {
		out.messages = append(out.messages, c.text(at, c.object(at, raw), nil, ""))
		out.paths = append(out.paths, at)
	}
	for i := range in.Messages {
		at, raw := at.Child("messages").Index(i), in.Messages[i].Raw
		if wait := c.wait(at, raw); wait != nil {
			wait.Before = len(out.messages)
			out.waits = append(out.waits, *wait)
		} else {
			message(at, raw)
		}
	}
	if in.Message != nil {
		message(at.Child("message"), in.Message.Raw)
	}
	if len(out.messages) == 0 {
		message(at.Child("message"), []byte("{}"))
	}
	return out
}

// wait parses an item of messages that is a wait; nil: it is a message.
func (c *checker) wait(at *field.Path, raw []byte) *rv.Wait {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members["@wait"] == nil {
		return nil
	}
	var delay v1alpha1.Duration
	var of struct {
		Answers int64 `json:"answers"`
	}
	strict := json.NewDecoder(bytes.NewReader(members["@wait"]))
	strict.DisallowUnknownFields()
	switch {
	case len(members) > 1:
		c.fail(at, "has @wait and other fields; a wait is an item of its own")
	case json.Unmarshal(members["@wait"], &delay) == nil && delay.Duration > 0:
	case strict.Decode(&of) == nil && of.Answers > 0:
	default:
		c.fail(at.Child("@wait"), `must be a duration such as 100ms, or {answers: N} with at least 1`)
	}
	return &rv.Wait{Answers: of.Answers, Delay: delay.Duration}
}

// wholeCall sets the method and the path of a call, which has no body of another kind. Its deadline is its timeout.
func (c *compiler) wholeCall(r *request) {
	if r.method != "" || r.target != nil || r.content != nil {
		c.fail(r.path.Child("grpc"), "sets method, path and body; remove what else sets them")
	}
	name, longest := "timeout", cmp.Or(r.timeout, defaultTimeout)
	if d := r.call.deadline; d > longest {
		c.fail(r.path.Child("grpc", "deadline"), "must be at most timeout, which is %v", longest)
	} else if d > 0 {
		name, longest, r.timeout = "deadline", d, d
	}
	var delays time.Duration
	for _, w := range r.call.waits {
		delays += w.Delay
	}
	if delays >= longest {
		c.fail(r.path.Child("grpc", "messages"), "wait for %v, and %s is %v", delays, name, longest)
	}
	r.method = http.MethodPost
	r.target = c.requestTarget(r.path.Child("grpc"), "/"+r.call.service+"/"+r.call.method)
}

// resolveCall fills in the messages of a call.
func (c *compiler) resolveCall(s *scope, in *call, out *rv.Step) {
	c.place(s.place.In("grpc", -1), in.path)
	if out.Target < len(c.plan.Targets) { // else there are none
		c.callable(in.path, &c.plan.Targets[out.Target])
	}
	out.GRPC = &rv.GRPC{Service: in.service, Method: in.method, Waits: in.waits, Deadline: in.deadline, Gzip: in.gzip}
	for i, m := range in.messages {
		c.place(s.place.In("grpc", i), in.paths[i])
		out.GRPC.Messages = append(out.GRPC.Messages, c.resolve(s, m))
	}
}

// callable checks that a target can have calls.
func (c *checker) callable(at *field.Path, t *rv.Target) {
	switch {
	case len(t.Protos) == 0:
		c.fail(at, "needs protoFrom of target %q, which has the proto files; h2surge convert proto asks a server for them",
			t.Name)
	case t.Protocol == rv.ProtocolHTTP1, t.Protocol == rv.ProtocolH3:
		c.fail(at, "needs HTTP/2, and target %q uses %s", t.Name, t.Protocol.HTTP())
	case t.Protocol == rv.ProtocolALPN:
		c.fail(at, "needs HTTP/2, and tls.alpn of target %q offers http/1.1, too", t.Name)
	}
}

// protos are the files of the services of a target, which use HTTP/2.
func (c *compiler) protos(at *field.Path, t *v1alpha1.Target, out *rv.Target) {
	for i := range t.ProtoFrom {
		at := at.Index(i)
		c.place(rv.Place{List: rv.PlaceTargets, Index: len(c.plan.Targets)}.In("protos", i), at)
		out.Protos = append(out.Protos, rv.Content{File: c.contentSource(at, &t.ProtoFrom[i])})
	}
	switch {
	case len(out.Protos) == 0:
	case out.Protocol == rv.ProtocolDiscovered:
		out.Protocol = rv.ProtocolH2C
	case out.Protocol == rv.ProtocolALPN && (t.TLS == nil || len(t.TLS.ALPN) == 0):
		out.Protocol = rv.ProtocolH2
	}
}
