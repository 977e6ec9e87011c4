package grpc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Response is the body of a response with a coding: the value of grpc-encoding. Its messages take at most Most octets,
// decompressed.
type Response struct {
	Body, Encoding []byte
	Most           int
}

// AppendJSON appends the messages of a response in the JSON mapping of Protocol Buffers: the one message of a unary
// call, or a list of those of a stream. Fields without a value are there with their default. A google.protobuf.Any
// whose type is not known has its octets in base64, as a detail of a failure has. It allocates.
func (m *Method) AppendJSON(dst []byte, r Response, g *Gzip) ([]byte, error) {
	streams := m.method.IsStreamingServer()
	if streams {
		dst = append(dst, '[')
	}
	n := 0
	for ; len(r.Body) > 0; n++ {
		message, err := r.next(g)
		if err == nil && n > 0 && !streams {
			err = errors.New("the response has a second message")
		}
		if err != nil {
			return dst, err
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, err = m.appendMessage(dst, message); err != nil {
			return dst, err
		}
	}
	switch {
	case streams:
		dst = append(dst, ']')
	case n == 0:
		return dst, errors.New("the response has no message")
	}
	return dst, nil
}

// next removes the first message from the body, and returns it decompressed.
func (r *Response) next(g *Gzip) (message []byte, err error) {
	message, rest, compressed, err := cut(r.Body)
	switch {
	case err != nil:
		return nil, err
	case !compressed:
		r.Body = rest
		return message, nil
	case string(r.Encoding) != "gzip":
		return nil, fmt.Errorf("a message is compressed, and grpc-encoding is %q, not gzip", r.Encoding)
	}
	r.Body = rest
	message, err = g.decompress(message, r.Most)
	r.Most -= len(message)
	return message, err
}

// cut splits off the first message.
func cut(body []byte) (message, rest []byte, compressed bool, err error) {
	if len(body) < prefixOctets {
		return nil, nil, false, errors.New("the response ends in the prefix of a message")
	}
	n := uint64(binary.BigEndian.Uint32(body[1:]))
	switch {
	case body[0] > 1:
		return nil, nil, false, fmt.Errorf("a message has the flag %d, which is not defined", body[0])
	case n > uint64(len(body)-prefixOctets):
		return nil, nil, false, errors.New("the response ends in a message")
	}
	return body[prefixOctets:][:n], body[prefixOctets:][n:], body[0] == 1, nil
}

func (m *Method) appendMessage(dst, octets []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.method.Output())
	if err := (proto.UnmarshalOptions{Resolver: m.schema.types}).Unmarshal(octets, message); err != nil {
		return dst, fmt.Errorf("a message is not a %s: %w", m.method.Output().FullName(), bare(err))
	}
	options := protojson.MarshalOptions{EmitUnpopulated: true, Resolver: anyTypes{m.schema.types}}
	return options.MarshalAppend(dst, message)
}
