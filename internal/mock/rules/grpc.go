package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// callStatus is a compiled GRPCStatus.
type callStatus struct {
	code    int
	message text
}

// Codes of gRPC that the engine answers itself.
const (
	codeOK            = 0
	codeUnknown       = 2
	codeUnimplemented = 12
	codeInternal      = 13
)

// Codes is the number of codes of gRPC.
const Codes = 17

// codeOf returns the code for a status of HTTP: what google/rpc/code.proto maps to it, as far as that is one code.
func codeOf(status int) int {
	if status < 400 {
		return codeOK
	}
	code, ok := map[int]int{400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 412: 9, 413: 8, 429: 8, 499: 1, 500: codeInternal,
		501: codeUnimplemented, 503: 14, 504: 4}[status]
	if !ok {
		return codeUnknown
	}
	return code
}

var (
	callHead = hpack.AppendLiteral(appendStatus(nil, 200), hpack.Without, contentTypeIndex, "content-type",
		"application/grpc")
	codePrefix    = literalPrefix("grpc-status")
	messagePrefix = literalPrefix("grpc-message")
)

// identify finds out if a request is a call: its content-type is one of gRPC, and the file has services.
func (e *Engine) identify(c *Call) {
	if len(e.set.methods) == 0 || c.HTTP1 {
		return
	}
	if kind, _ := c.header("content-type", 0); bytes.HasPrefix(kind, []byte("application/grpc")) {
		c.called, c.rpc, c.Code = true, e.set.methods[string(c.path)], codeOK
	}
}

// decode replaces the body by its messages in JSON. If it cannot, it sets the status and returns false.
func (e *Engine) decode(c *Call) (ok bool) {
	if c.rpc == nil {
		c.fail(codeUnimplemented, []byte("protoFiles have no such method"))
		return false
	}
	coding, _ := c.header("grpc-encoding", 0)
	read := c.rpc.AppendJSON
	if c.single {
		read = c.rpc.AppendOne
	}
	text, err := read(nil, grpc.Response{Body: c.body, Encoding: coding, Most: maxAnswer}, &e.gzip)
	if err != nil {
		c.fail(codeInternal, []byte(strings.Replace(err.Error(), "the response", "the request", 1)))
		return false
	}
	c.body = text
	return true
}

// encode replaces the JSON of an answer by its messages.
func (c *Call) encode() {
	if !c.called || c.Fate != Answered || c.Code != codeOK {
		return
	}
	if c.Code = codeOf(c.Status); c.Code != codeOK {
		c.fail(c.Code, nil)
		return
	}
	if c.ready != nil {
		c.Body = c.ready
		return
	}
	var err error
	if c.messages, err = c.rpc.AppendMessages(c.messages[:0], c.Body); err != nil {
		c.Failed = true
		c.fail(codeInternal, []byte("the body of the rule: "+err.Error()))
		return
	}
	c.Body = c.messages
}

// fail makes a status the answer to a call.
func (c *Call) fail(code int, message []byte) {
	c.head(200)
	c.Code, c.Status, c.Body = code, 500, nil
	c.scratch = append(c.scratch[:0], message...)
}

// failProblem makes a problem, which is in content, the answer to a call.
func (c *Call) failProblem(p *problem) {
	code := codeOf(p.status)
	if p == noMatch() {
		code = codeUnimplemented
	}
	var texts [3]string
	for i, name := range []string{"/detail", "/cause", "/title"} {
		pointer, _ := jsontext.ParsePointer(name)
		if value, ok := pointer.Raw(c.content); ok {
			texts[i] = string(jsontext.Text(nil, value))
		}
	}
	c.fail(code, []byte(cmp.Or(texts[:]...)))
}

// finishCall sets what ends the answer to a call: its status, as trailers if there are messages.
func (e *Engine) finishCall(c *Call) {
	if !c.called || c.Fate != Answered {
		return
	}
	c.Status = 200
	if c.Code == codeOK {
		c.Trailers = appendCode(c.Trailers[:0], codeOK)
		return
	}
	c.Block = c.AppendStatus(c.Block)
}

// AppendStatus appends the header block of the trailer section that ends a call.
func (c *Call) AppendStatus(dst []byte) []byte {
	dst = appendCode(dst, c.Code)
	if c.Code != codeOK && len(c.scratch) > 0 {
		dst = hpack.AppendString(append(dst, messagePrefix...), appendPercent(nil, c.scratch))
	}
	return dst
}

func appendCode(dst []byte, code int) []byte {
	return hpack.AppendString(append(dst, codePrefix...), strconv.AppendInt(nil, int64(code), 10))
}

// appendPercent appends a message of a status, whose octets other than printable ASCII are percent-encoded
// (PROTOCOL-HTTP2.md of gRPC). It cuts a long message.
func appendPercent(dst, message []byte) []byte {
	const most = 500
	for _, c := range message[:min(len(message), most)] {
		if c < ' ' || c > '~' || c == '%' {
			dst = fmt.Appendf(dst, "%%%02X", c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// compileProtos compiles the proto files, and returns them with their methods by path.
func (s *source) compileProtos(names []string, dir string) (*grpc.Schema, map[string]*grpc.Method) {
	var files []grpc.File
	for i, name := range names {
		if text, ok := s.readText(fmt.Sprintf("protoFiles[%d]", i), name, dir); ok {
			files = append(files, grpc.File{Name: name, Content: []byte(text)})
		}
	}
	if len(files) == 0 || len(files) < len(names) {
		return nil, nil
	}
	schema, err := grpc.NewSchema(files)
	if err != nil {
		s.add("protoFiles", "%v", err)
		return nil, nil
	}
	methods := schema.Served()
	if len(methods) == 0 {
		s.add("protoFiles", "the files have no service")
	}
	return schema, methods
}

// methodsOf returns whether a pattern matches the path of a method. A pattern without parameters matches one method.
func (s *source) methodsOf(p *pattern) (called bool, one *grpc.Method) {
	if one = s.methods[p.exact]; p.class == exactPath || p.class == anyPath {
		return one != nil, one
	}
	for path := range s.methods {
		if _, ok := p.match([]byte(path), nil); ok {
			return true, nil
		}
	}
	return false, nil
}

// compileStatus compiles the status of a response that has no messages.
func (s *source) compileStatus(path string, spec *Response, r *response, sc scope) {
	switch {
	case !sc.called:
		s.add(path+".grpc", "match.path is not the path of a method of protoFiles")
	case spec.Problem != nil || spec.Status != nil || spec.Headers != nil || spec.Body != nil || spec.BodyFile != "" ||
		spec.Parts != nil || spec.Script != nil:
		s.add(path+".grpc", "cannot be used with status, headers, body, bodyFile, parts, problem or script")
	}
	// A response of status 500 changes no documents.
	r.grpc, r.status = &callStatus{}, 500
	for r.grpc.code = 1; r.grpc.code < Codes; r.grpc.code++ {
		if CodeName(r.grpc.code) == spec.GRPC.Status {
			break
		}
	}
	if r.grpc.code == Codes {
		s.add(path+".grpc.status", "%q is not a code of gRPC other than OK, such as NOT_FOUND", spec.GRPC.Status)
	}
	sc.json = false
	var err error
	r.grpc.message, err = parseText(spec.GRPC.Message, sc)
	s.addAll(path+".grpc.message", err)
}

// CodeName is the name of a code of gRPC.
func CodeName(code int) string { return grpc.Code(strconv.AppendInt(nil, int64(code), 10)) }

// compileMessages checks the responses of a rule for calls, and encodes messages without placeholders.
func (s *source) compileMessages(path string, spec *Response, r *response, sc scope) {
	switch {
	case spec.Parts != nil:
		s.add(path+".parts", "is not allowed in the response to a call of gRPC")
	case r.hasType:
		s.add(path+".headers", "content-type of a call of gRPC is application/grpc")
	case r.script == noScript && sc.method != nil && r.body != nil && r.status < 400:
		constant, is := r.body.constant()
		if !is {
			return
		}
		var err error
		if r.messages, err = sc.method.AppendMessages([]byte{}, []byte(constant)); err != nil {
			at := path + ".body"
			if spec.Body == nil {
				at = path + ".bodyFile"
			}
			s.add(at, "%v", err)
		}
	}
}
