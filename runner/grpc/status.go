package grpc

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
)

// The fields of a response that have its code, and the message and the details of a failure.
const (
	StatusField  = "grpc-status"
	MessageField = "grpc-message"
	DetailsField = "grpc-status-details-bin"
)

// IsStatus returns whether a field is part of the status, which is in the last header block of a response.
func IsStatus(name []byte) bool {
	return string(name) == StatusField || string(name) == MessageField || string(name) == DetailsField
}

// codes are the status codes of gRPC, by number.
var codes = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// OK is the name of the code of a call that succeeded.
const OK = "OK"

// unknown is the number of UNKNOWN. A client takes a status that is absent or not defined for it.
const unknown = 2

// Number returns the code in a grpc-status field.
func Number(status []byte) int {
	if n, err := strconv.Atoi(string(status)); err == nil && n >= 0 && n < len(codes) {
		return n
	}
	return unknown
}

// Name returns the name of a code.
func Name(number int) string { return codes[number] }

// Code returns the name of the code in a grpc-status field.
func Code(status []byte) string { return Name(Number(status)) }

// Failure is why a call failed: the fields grpc-status, grpc-message and grpc-status-details-bin. The last one is a
// google.rpc.Status; it is empty, or not one, if the server has no details.
type Failure struct{ Status, Message, Details []byte }

// AppendJSON appends the failure as google.rpc.Status in the JSON mapping: code, message, and details. A detail has its
// type as @type, and the fields of its message if the type is of the schema or a well-known one; otherwise value has
// its octets in base64. It allocates.
func (f Failure) AppendJSON(dst []byte, s *Schema) []byte {
	dst = strconv.AppendInt(append(dst, `{"code":`...), int64(Number(f.Status)), 10)
	dst = appendText(append(dst, `,"message":`...), string(unescape(f.Message)))
	dst = append(dst, `,"details":[`...)
	for i, detail := range details(f.Details) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.appendDetail(dst, detail)
	}
	return append(dst, "]}"...)
}

// appendDetail appends one detail.
func (s *Schema) appendDetail(dst []byte, detail *anypb.Any) []byte {
	options := protojson.MarshalOptions{EmitUnpopulated: true, Resolver: anyTypes{s.types}}
	if out, err := options.MarshalAppend(dst, detail); err == nil && detail.TypeUrl != "" {
		return out
	}
	dst = appendText(append(dst, `{"@type":`...), detail.TypeUrl)
	dst = appendText(append(dst, `,"value":`...), base64.StdEncoding.EncodeToString(detail.Value))
	return append(dst, '}')
}

// appendText appends a JSON string.
func appendText(dst []byte, text string) []byte {
	out, _ := json.Marshal(text) // a string has an encoding
	return append(dst, out...)
}

// The fields of google.rpc.Status and of google.protobuf.Any that are read.
const (
	statusDetails = 3
	anyType       = 1
	anyValue      = 2
)

// details returns the details in base64 of a google.rpc.Status.
func details(field []byte) (out []*anypb.Any) {
	octets, err := base64.RawStdEncoding.AppendDecode(nil, bytes.TrimRight(field, "="))
	if err != nil {
		return nil
	}
	eachField(octets, func(n protowire.Number, value []byte) {
		if n != statusDetails {
			return
		}
		detail := new(anypb.Any)
		eachField(value, func(n protowire.Number, value []byte) {
			switch n {
			case anyType:
				detail.TypeUrl = string(value)
			case anyValue:
				detail.Value = value
			}
		})
		out = append(out, detail)
	})
	return out
}

// eachField calls f with each field of a message that has a length, up to the first octet that is not of a field.
func eachField(message []byte, f func(n protowire.Number, value []byte)) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[tag:])
			f(number, value)
		}
		message = message[tag+size:]
	}
}

// unescape decodes the percent-encoding of grpc-message. What is not encoded correctly stays as it is.
func unescape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if octet, err := hex.AppendDecode(out, text[i+1:i+3]); err == nil {
				out = octet
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return out
}
