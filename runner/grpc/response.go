package grpc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// AppendJSON appends the messages of a response in the JSON mapping of Protocol Buffers: the one message of a unary
// call, or a list of those of a stream. Fields without a value are there with their default. It allocates.
func (m *Method) AppendJSON(dst, body []byte) ([]byte, error) {
	streams := m.method.IsStreamingServer()
	if streams {
		dst = append(dst, '[')
	}
	n := 0
	for ; len(body) > 0; n++ {
		message, rest, err := cut(body)
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
		body = rest
	}
	switch {
	case streams:
		dst = append(dst, ']')
	case n == 0:
		return dst, errors.New("the response has no message")
	}
	return dst, nil
}

// cut splits off the first message.
func cut(body []byte) (message, rest []byte, err error) {
	if len(body) < prefixOctets {
		return nil, nil, errors.New("the response ends in the prefix of a message")
	}
	n := uint64(binary.BigEndian.Uint32(body[1:]))
	switch {
	case body[0] != 0:
		return nil, nil, errors.New("a message is compressed, which the request did not accept")
	case n > uint64(len(body)-prefixOctets):
		return nil, nil, errors.New("the response ends in a message")
	}
	return body[prefixOctets:][:n], body[prefixOctets:][n:], nil
}

func (m *Method) appendMessage(dst, octets []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.method.Output())
	if err := (proto.UnmarshalOptions{Resolver: m.schema.types}).Unmarshal(octets, message); err != nil {
		return dst, fmt.Errorf("a message is not a %s: %w", m.method.Output().FullName(), bare(err))
	}
	return protojson.MarshalOptions{EmitUnpopulated: true, Resolver: m.schema.types}.MarshalAppend(dst, message)
}
