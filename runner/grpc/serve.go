package grpc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// served is a method as its server sees it: it reads the input and writes the output.
type served struct{ protoreflect.MethodDescriptor }

func (s served) Input() protoreflect.MessageDescriptor  { return s.MethodDescriptor.Output() }
func (s served) Output() protoreflect.MessageDescriptor { return s.MethodDescriptor.Input() }
func (s served) IsStreamingClient() bool                { return s.MethodDescriptor.IsStreamingServer() }
func (s served) IsStreamingServer() bool                { return s.MethodDescriptor.IsStreamingClient() }

// Served returns the methods of all services by their paths, for a server: Request encodes the messages of a response,
// and AppendJSON decodes those of a request. SendsStream is about the response, and Streams about the request.
func (s *Schema) Served() map[string]*Method {
	out := map[string]*Method{}
	s.files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				m := &Method{schema: s, method: served{methods.Get(j)}}
				out[m.Path()] = m
			}
		}
		return true
	})
	return out
}

// AppendOne appends a message of a stream, or the only one of a call, as AppendJSON does.
func (m *Method) AppendOne(dst []byte, r Response, g *Gzip) ([]byte, error) {
	message, err := r.next(g)
	if err != nil {
		return dst, err
	}
	return m.appendMessage(dst, message)
}

// Size returns the size of the first message of a body with its prefix. It is 0 if body has no complete message.
func Size(body []byte) int {
	if len(body) < prefixOctets {
		return 0
	}
	n := uint64(binary.BigEndian.Uint32(body[1:])) + prefixOctets
	if n > uint64(len(body)) {
		return 0
	}
	return int(n)
}

// Files are the files of the schema.
func (s *Schema) Files() *protoregistry.Files { return s.files }

// AppendMessages appends messages that are JSON: one message, or a list of those of a stream. An empty text is a
// message without fields, or a stream without messages. It is the reverse of AppendJSON. It allocates.
func (m *Method) AppendMessages(dst, text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	messages := [][]byte{text}
	switch streams := m.method.IsStreamingClient(); {
	case HasMarks(string(text)):
		return dst, errors.New("has a code point of a private plane that messages cannot have")
	case len(text) == 0 && streams:
		messages = nil
	case len(text) == 0:
		messages[0] = []byte("{}")
	case text[0] == '[' && streams:
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return dst, err
		}
		messages = messages[:0]
		for _, message := range list {
			messages = append(messages, message)
		}
	}
	pieces, err := m.Request(messages, false)
	for _, p := range pieces {
		at := len(dst)
		for _, inner := range p.Inner {
			dst = append(dst, inner.Octets...)
		}
		dst, _ = p.As.Encode(dst, at, nil)
	}
	return dst, err
}
