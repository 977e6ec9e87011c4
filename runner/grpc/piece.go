package grpc

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Piece is a part of encoded messages. Pieces are written one after another.
type Piece struct {
	// Octets are written as they are.
	Octets []byte
	// Text, with marks, is a value that As encodes when its placeholders have values.
	Text string
	// Inner are the pieces of a message that As encodes.
	Inner []Piece
	// As: nil if the piece is Octets.
	As *Encoding
}

// Encoding is how a value is written.
type Encoding struct {
	kind kind
	// numbers of an enum, by name.
	numbers map[string]protoreflect.EnumNumber
}

type kind uint8

const (
	kindFrame   kind = iota // a message with its prefix
	kindGzip                // a compressed message with its prefix
	kindMessage             // a message in a message
	kindString
	kindBytes
	kindBool
	kindEnum
	kindInt32
	kindInt64
	kindUint32
	kindUint64
	kindSint32
	kindSint64
	kindFixed32
	kindFixed64
	kindSfixed32
	kindSfixed64
	kindFloat
	kindDouble
)

// kinds of fields that placeholders can have values of.
var kinds = map[protoreflect.Kind]kind{
	protoreflect.StringKind: kindString, protoreflect.BytesKind: kindBytes, protoreflect.BoolKind: kindBool,
	protoreflect.EnumKind: kindEnum, protoreflect.Int32Kind: kindInt32, protoreflect.Int64Kind: kindInt64,
	protoreflect.Uint32Kind: kindUint32, protoreflect.Uint64Kind: kindUint64, protoreflect.Sint32Kind: kindSint32,
	protoreflect.Sint64Kind: kindSint64, protoreflect.Fixed32Kind: kindFixed32, protoreflect.Fixed64Kind: kindFixed64,
	protoreflect.Sfixed32Kind: kindSfixed32, protoreflect.Sfixed64Kind: kindSfixed64,
	protoreflect.FloatKind: kindFloat, protoreflect.DoubleKind: kindDouble,
}

func encodingOf(f protoreflect.FieldDescriptor) *Encoding {
	e := &Encoding{kind: kinds[f.Kind()]}
	if e.kind != kindEnum {
		return e
	}
	e.numbers = map[string]protoreflect.EnumNumber{}
	for i := range f.Enum().Values().Len() {
		v := f.Enum().Values().Get(i)
		e.numbers[string(v.Name())] = v.Number()
	}
	return e
}

// prefixOctets is the length of the prefix of a message.
const prefixOctets = 5

// Encode replaces dst[at:], the text of a value or the octets of a message, by its encoding. It returns false if the
// text is not a value of the field: then nothing may be sent. It allocates only if dst is too small, or if g has not
// compressed before.
func (e *Encoding) Encode(dst []byte, at int, g *Gzip) ([]byte, bool) {
	value := dst[at:]
	switch e.kind {
	case kindFrame:
		return framed(dst, at, 0), true
	case kindGzip:
		return framed(g.compress(dst, at), at, 1), true
	case kindString:
		ok := utf8.Valid(value)
		return prefixed(dst, at), ok
	case kindMessage:
		return prefixed(dst, at), true
	case kindBytes:
		n, ok := decodeBase64(value)
		return prefixed(dst[:at+n], at), ok
	default:
		return e.number(dst[:at], string(value))
	}
}

// framed inserts the prefix of the message dst[at:] before it.
func framed(dst []byte, at int, flag byte) []byte {
	dst = slices.Insert(dst, at, flag, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-prefixOctets))
	return dst
}

// prefixed inserts the length of dst[at:] before it.
func prefixed(dst []byte, at int) []byte {
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(dst)-at))
	return slices.Insert(dst, at, length[:n]...)
}

// decodeBase64 decodes in place: the standard or the URL alphabet, with or without padding, as the JSON mapping allows.
func decodeBase64(value []byte) (n int, ok bool) {
	for len(value) > 0 && value[len(value)-1] == '=' {
		value = value[:len(value)-1]
	}
	for i, c := range value {
		switch c {
		case '-':
			value[i] = '+'
		case '_':
			value[i] = '/'
		}
	}
	n, err := base64.RawStdEncoding.Decode(value, value)
	return n, err == nil
}

// number appends a number, a boolean or a member of an enum.
func (e *Encoding) number(dst []byte, text string) ([]byte, bool) {
	switch e.kind {
	case kindBool:
		return protowire.AppendVarint(dst, protowire.EncodeBool(text == "true")), text == "true" || text == "false"
	case kindEnum:
		n, known := e.numbers[text]
		if !known {
			number, err := strconv.ParseInt(text, 10, 32)
			n, known = protoreflect.EnumNumber(number), err == nil
		}
		return protowire.AppendVarint(dst, uint64(int64(n))), known
	case kindInt32, kindSint32, kindSfixed32:
		n, err := strconv.ParseInt(text, 10, 32)
		return e.signed(dst, n), err == nil
	case kindInt64, kindSint64, kindSfixed64:
		n, err := strconv.ParseInt(text, 10, 64)
		return e.signed(dst, n), err == nil
	case kindUint32:
		n, err := strconv.ParseUint(text, 10, 32)
		return protowire.AppendVarint(dst, n), err == nil
	case kindUint64:
		n, err := strconv.ParseUint(text, 10, 64)
		return protowire.AppendVarint(dst, n), err == nil
	case kindFixed32:
		n, err := strconv.ParseUint(text, 10, 32)
		return protowire.AppendFixed32(dst, uint32(n)), err == nil
	case kindFixed64:
		n, err := strconv.ParseUint(text, 10, 64)
		return protowire.AppendFixed64(dst, n), err == nil
	case kindFloat:
		n, err := strconv.ParseFloat(text, 32)
		return protowire.AppendFixed32(dst, math.Float32bits(float32(n))), err == nil
	default:
		n, err := strconv.ParseFloat(text, 64)
		return protowire.AppendFixed64(dst, math.Float64bits(n)), err == nil
	}
}

func (e *Encoding) signed(dst []byte, n int64) []byte {
	switch e.kind {
	case kindSint32, kindSint64:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(n))
	case kindSfixed32:
		return protowire.AppendFixed32(dst, uint32(n))
	case kindSfixed64:
		return protowire.AppendFixed64(dst, uint64(n))
	default:
		return protowire.AppendVarint(dst, uint64(n))
	}
}
