// Package message holds requests and responses in a form that captures, checks and scripts can look
// at. It is off the fast path: requests that nothing looks at are never in this form.
package message

import "bytes"

// Field is a header field; Name is lower case.
type Field struct{ Name, Value []byte }

// Message is a request or a response. The creator of the message owns all slices, and documents how long they are
// valid.
type Message struct {
	// Method, Scheme, Authority and Path are of a request; Path has the query.
	Method, Scheme, Authority, Path []byte
	// Status is of a response; 0: none yet.
	Status int
	// Fields are the header fields without pseudo-header fields, in the order of the wire.
	Fields []Field
	Body   []byte
	// Unsized: the end of a request can be sent early, so the request has no content-length.
	Unsized bool
}

// Clone returns a copy of the message that shares no memory with it.
func (m *Message) Clone() *Message {
	out := *m
	out.Method, out.Scheme = bytes.Clone(m.Method), bytes.Clone(m.Scheme)
	out.Authority, out.Path = bytes.Clone(m.Authority), bytes.Clone(m.Path)
	out.Body, out.Fields = bytes.Clone(m.Body), make([]Field, len(m.Fields))
	for i, f := range m.Fields {
		out.Fields[i] = Field{Name: bytes.Clone(f.Name), Value: bytes.Clone(f.Value)}
	}
	return &out
}

// IsHead returns whether the method is HEAD, so that the response has no content.
func (m *Message) IsHead() bool {
	return string(m.Method) == "HEAD" //nolint:usestdlibvars // net/http is not worth linking for a word
}

// Header returns the value of the first field with this lower-case name.
func (m *Message) Header(name string) (value []byte, ok bool) {
	for i := range m.Fields {
		if string(m.Fields[i].Name) == name {
			return m.Fields[i].Value, true
		}
	}
	return nil, false
}

// AppendJoined appends the values of all fields with this lower-case name, joined with commas, which together are one
// list (RFC 9110 5.3).
func (m *Message) AppendJoined(dst []byte, name string) (out []byte, ok bool) {
	for i := range m.Fields {
		if string(m.Fields[i].Name) != name {
			continue
		}
		if ok {
			dst = append(dst, ", "...)
		}
		dst, ok = append(dst, m.Fields[i].Value...), true
	}
	return dst, ok
}

// Set replaces the value of all fields with this lower-case name by one value. It keeps name and value.
func (m *Message) Set(name, value []byte) {
	kept := m.Fields[:0]
	for _, f := range m.Fields {
		if !bytes.Equal(f.Name, name) {
			kept = append(kept, f)
		}
	}
	m.Fields = append(kept, Field{Name: name, Value: value})
}

// Exchange is a response, whole, and the request it answers.
type Exchange struct {
	// Request is filled when the step wants it.
	Request  *Message
	Response *Message
	// BodySize is the number of octets of the response's content, of which Response.Body may have
	// only the beginning: Cut says so.
	BodySize int64
	Cut      bool
	// ResponseTime is from due to done, in nanoseconds.
	ResponseTime int64
}
