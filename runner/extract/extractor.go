package extract

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/multipart"
	"github.com/h2surge/h2surge/runner/message"
)

// Extractor is a Source made ready.
type Extractor struct {
	kind    rv.SourceKind
	name    string
	joined  bool
	part    string // of a multipart response
	pointer *jsontext.Pointer
	path    *jsontext.Path
	xpath   *xpathExpression
	regex   *regexp.Regexp
	group   int
}

// New fails when s is not a Source that the API describes. The error names the field.
func New(s rv.Source) (*Extractor, error) {
	e := &Extractor{kind: s.Kind, name: s.Name, joined: s.Joined, part: s.Part, group: s.Group}
	if err := e.setKind(s); err != nil {
		return nil, err
	}
	if err := e.setRegex(s); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Extractor) setKind(s rv.Source) (err error) {
	if s.Part != "" && !ofContent(s.Kind) && s.Kind != rv.SourceBodySize {
		return fmt.Errorf("part: goes with sources of the content, not with %s", s.Kind)
	}
	switch s.Kind {
	case rv.SourceStatus, rv.SourceBody, rv.SourceBodyHex, rv.SourceBodySize, rv.SourceResponseTime,
		rv.SourceRequestMethod, rv.SourceRequestPath, rv.SourceRequestBody:
		return nil
	case rv.SourceHeader, rv.SourceRequestHeader:
		if s.Name == "" || s.Name != strings.ToLower(s.Name) {
			return fmt.Errorf("name: %q is not the lower-case name of a header field", s.Name)
		}
		return nil
	case rv.SourceJSONPointer, rv.SourceRequestJSONPointer:
		if e.pointer, err = jsontext.ParsePointer(s.Pointer); err != nil {
			return fmt.Errorf("pointer: %w", err)
		}
		return nil
	case rv.SourceJSONPath, rv.SourceRequestJSONPath:
		if e.path, err = jsontext.ParsePath(s.JSONPath); err != nil {
			return fmt.Errorf("jsonPath: %w", err)
		}
		return nil
	case rv.SourceXPath:
		if e.xpath, err = newXPath(s.XPath); err != nil {
			return fmt.Errorf("xpath: %w", err)
		}
		return nil
	}
	return fmt.Errorf("kind: unknown source %q", s.Kind)
}

func (e *Extractor) setRegex(s rv.Source) (err error) {
	if s.Regex == "" {
		if s.Group != 0 {
			return errors.New("group: needs regex")
		}
		return nil
	}
	if e.regex, err = regexp.Compile(s.Regex); err != nil {
		return fmt.Errorf("regex: %w", err)
	}
	if s.Group < 0 || s.Group > e.regex.NumSubexp() {
		return fmt.Errorf("group: %d: must be from 0 to %d, the number of groups in regex", s.Group, e.regex.NumSubexp())
	}
	return nil
}

// NeedsBody is true when Value looks at the response's content. A source that only counts it does not, unless it counts
// a part.
func (e *Extractor) NeedsBody() bool { return ofContent(e.kind) || e.part != "" }

func ofContent(kind rv.SourceKind) bool {
	switch kind {
	case rv.SourceBody, rv.SourceBodyHex, rv.SourceJSONPointer, rv.SourceJSONPath, rv.SourceXPath:
		return true
	}
	return false
}

// NeedsFields is true when Value looks at the response's header fields.
func (e *Extractor) NeedsFields() bool { return e.kind == rv.SourceHeader || e.part != "" }

// NeedsRequest is true when Value looks at the request.
func (e *Extractor) NeedsRequest() bool {
	switch e.kind {
	case rv.SourceRequestMethod, rv.SourceRequestPath, rv.SourceRequestHeader, rv.SourceRequestBody,
		rv.SourceRequestJSONPointer, rv.SourceRequestJSONPath:
		return true
	}
	return false
}

// Value returns the value that x has, or ok false when it has none: a field or member that is not
// there, no match, a document that is not valid, a body that is needed and was cut, a part of the exchange
// that is missing. A value may be empty.
//
// The value is either a part of x's slices, valid as long as they are, or it was appended to dst: then it
// is what follows dst's length, in dst's memory if its capacity was enough, and valid until that memory is written to.
// What dst held is unchanged. Only an XPath, a JSONPath that compares what is not a string or an integer, a group of a
// regular expression above 0, and a value that does not fit into dst allocate.
func (e *Extractor) Value(dst []byte, x *message.Exchange) (value []byte, ok bool) {
	if value, ok = e.whole(dst, x); !ok || e.regex == nil {
		return value, ok
	}
	return e.matched(value)
}

func (e *Extractor) whole(dst []byte, x *message.Exchange) (value []byte, ok bool) {
	switch {
	case e.kind == rv.SourceBodySize && e.part == "":
		return strconv.AppendInt(dst, x.BodySize, 10)[len(dst):], true
	case e.kind == rv.SourceResponseTime:
		return strconv.AppendInt(dst, x.ResponseTime, 10)[len(dst):], true
	case e.NeedsRequest():
		return e.ofRequest(dst, x.Request)
	case e.NeedsBody() && x.Cut:
		return nil, false
	}
	return e.ofResponse(dst, x.Response)
}

func (e *Extractor) ofResponse(dst []byte, m *message.Message) (value []byte, ok bool) {
	if m == nil {
		return nil, false
	}
	switch e.kind {
	case rv.SourceHeader:
		if !e.joined {
			return m.Header(e.name)
		}
		out, ok := m.AppendJoined(dst, e.name)
		return out[len(dst):], ok
	case rv.SourceStatus:
		return strconv.AppendInt(dst, int64(m.Status), 10)[len(dst):], m.Status != 0
	}
	body, err := Content(m, e.part)
	if err != nil {
		return nil, false
	}
	switch e.kind {
	case rv.SourceBodySize:
		return strconv.AppendInt(dst, int64(len(body)), 10)[len(dst):], true
	case rv.SourceBodyHex:
		return hex.AppendEncode(dst, body)[len(dst):], true
	case rv.SourceJSONPointer:
		return e.pointer.Find(dst, body)
	case rv.SourceJSONPath:
		return e.path.Find(dst, body)
	case rv.SourceXPath:
		return e.xpath.value(dst, body)
	}
	return body, true
}

// Content returns the content of a response or of one of its parts. The error says why the response does not have the
// part.
func Content(m *message.Message, part string) ([]byte, error) {
	if part == "" {
		return m.Body, nil
	}
	contentType, _ := m.Header("content-type")
	return multipart.Find(contentType, m.Body, part)
}

// Problem returns why a response does not have the part that Value reads, or nil.
func (e *Extractor) Problem(x *message.Exchange) error {
	if e.part == "" || x.Response == nil {
		return nil
	}
	_, err := Content(x.Response, e.part)
	return err
}

func (e *Extractor) ofRequest(dst []byte, m *message.Message) (value []byte, ok bool) {
	if m == nil {
		return nil, false
	}
	switch e.kind {
	case rv.SourceRequestMethod:
		return m.Method, true
	case rv.SourceRequestPath:
		return m.Path, true
	case rv.SourceRequestHeader:
		return m.Header(e.name)
	case rv.SourceRequestJSONPointer:
		return e.pointer.Find(dst, m.Body)
	case rv.SourceRequestJSONPath:
		return e.path.Find(dst, m.Body)
	}
	return m.Body, true
}

// matched is what the regular expression takes of a value. Find, unlike FindSubmatchIndex, does not allocate.
func (e *Extractor) matched(value []byte) (part []byte, ok bool) {
	if value == nil {
		value = []byte{} // else an empty match would look like none
	}
	if e.group == 0 {
		part = e.regex.Find(value)
		return part, part != nil
	}
	at := e.regex.FindSubmatchIndex(value)
	if at == nil || at[2*e.group] < 0 {
		return nil, false
	}
	return value[at[2*e.group]:at[2*e.group+1]], true
}
