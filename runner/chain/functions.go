package chain

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/octet"
)

// function replaces the value that was appended last.
type function struct {
	name  rv.FunctionName
	width int
	fill  string
	key   text
}

// maxPad is the maximum width of pad in the language of texts.
const maxPad = 1024

func (b *builder) function(in *rv.Function) (function, error) {
	f := function{name: in.Name, width: in.Width, fill: in.Fill}
	switch in.Name {
	case rv.FunctionURLEncode, rv.FunctionBase64, rv.FunctionBase64URL, rv.FunctionJSONEscape,
		rv.FunctionHexDecode, rv.FunctionUpper, rv.FunctionLower, rv.FunctionSHA256:
	case rv.FunctionPad:
		if in.Width < 1 || in.Width > maxPad || utf8.RuneCountInString(in.Fill) != 1 {
			return f, fmt.Errorf(": pad needs a width from 1 to %d and one character", maxPad)
		}
	case rv.FunctionHMACSHA256:
		if in.Key == nil || len(in.Key.Functions) > 0 {
			return f, fmt.Errorf(".key: must be a reference without functions")
		}
		key, err := b.reference(in.Key)
		if err != nil {
			return f, fmt.Errorf(".key%w", err)
		}
		f.key = f.key.add(key)
	default:
		return f, fmt.Errorf(": unknown function %q", in.Name)
	}
	return f, nil
}

// fold returns a literal if the piece is constant, else the piece.
func (p piece) fold() piece {
	if p.kind != pieceConstant {
		return p
	}
	for i := range p.functions {
		if !p.functions[i].key.constant() {
			return p
		}
	}
	return piece{literal: p.appendTo(nil, &Instance{src: &Sources{}})}
}

// apply replaces the value dst[at:]. Its buffers belong to the sources of the instance.
func (f *function) apply(dst []byte, at int, in *Instance) []byte {
	switch f.name {
	case rv.FunctionUpper:
		for i, c := range dst[at:] {
			dst[at+i] = octet.Upper(c)
		}
		return dst
	case rv.FunctionLower:
		octet.ToLower(dst[at:])
		return dst
	}
	in.src.text = append(in.src.text[:0], dst[at:]...)
	value := in.src.text
	dst = dst[:at]
	switch f.name {
	case rv.FunctionURLEncode:
		return appendURLEncoded(dst, value)
	case rv.FunctionBase64:
		return base64.StdEncoding.AppendEncode(dst, value)
	case rv.FunctionBase64URL:
		return base64.RawURLEncoding.AppendEncode(dst, value)
	case rv.FunctionJSONEscape:
		return jsontext.AppendEscaped(dst, value)
	case rv.FunctionHexDecode:
		return octet.AppendHexDecoded(dst, value)
	case rv.FunctionPad:
		for n := utf8.RuneCount(value); n < f.width; n++ {
			dst = append(dst, f.fill...)
		}
		return append(dst, value...)
	case rv.FunctionSHA256:
		sum := sha256.Sum256(value)
		return hex.AppendEncode(dst, sum[:])
	case rv.FunctionHMACSHA256:
		return f.appendHMAC(dst, in)
	}
	return dst
}

func appendURLEncoded(dst, value []byte) []byte {
	for _, c := range value {
		if octet.IsUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = octet.AppendPercent(dst, c)
		}
	}
	return dst
}

// appendHMAC appends the HMAC (RFC 2104) of in.src.text: H(K xor opad, H(K xor ipad, text)). A block of SHA-256 has 64
// octets.
func (f *function) appendHMAC(dst []byte, in *Instance) []byte {
	const block = sha256.BlockSize
	s := in.src
	s.key = f.key.appendTo(s.key[:0], in)
	if len(s.key) > block {
		sum := sha256.Sum256(s.key)
		s.key = append(s.key[:0], sum[:]...)
	}
	for len(s.key) < block {
		s.key = append(s.key, 0)
	}
	for i := range s.key {
		s.key[i] ^= 0x36
	}
	s.key = append(s.key, s.text...)
	inner := sha256.Sum256(s.key)
	s.key = s.key[:block]
	for i := range s.key {
		s.key[i] ^= 0x36 ^ 0x5c
	}
	s.key = append(s.key, inner[:]...)
	outer := sha256.Sum256(s.key)
	return hex.AppendEncode(dst, outer[:])
}
