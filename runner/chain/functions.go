package chain

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/fiveg"
	"github.com/h2surge/h2surge/runner/hmac"
)

// function replaces the value that was appended last.
type function struct {
	name  rv.FunctionName
	width int
	fill  string
	key   text
	// arguments of resStar and hxresStar after the first one.
	arguments []text
}

// maxPad is the maximum width of pad in the language of texts, and of random strings.
const maxPad = 1024

// maxArguments is the number of arguments of resStar.
const maxArguments = 3

func (b *builder) function(in *rv.Function) function {
	f := function{name: in.Name, width: in.Width, fill: in.Fill}
	switch in.Name {
	case rv.FunctionURLEncode, rv.FunctionBase64, rv.FunctionBase64URL, rv.FunctionJSONEscape,
		rv.FunctionHexDecode, rv.FunctionUpper, rv.FunctionLower, rv.FunctionSHA256, rv.FunctionRoutingBinding:
	case rv.FunctionPad:
		if in.Width < 1 || in.Width > maxPad || utf8.RuneCountInString(in.Fill) != 1 {
			b.failf("pad needs a width from 1 to %d and one character", maxPad)
		}
	case rv.FunctionHMACSHA256:
		if in.Key == nil {
			b.failf("%s needs a key", in.Name)
		} else {
			f.key = b.argument(in, in.Key)
		}
	case rv.FunctionRESStar, rv.FunctionHXRESStar:
		if want := rv.ArgumentsOf(in.Name); len(in.Arguments) != want {
			b.failf("%s needs %d arguments", in.Name, want)
		}
		for i := range in.Arguments {
			f.arguments = append(f.arguments, b.argument(in, &in.Arguments[i]))
		}
	default:
		b.failf("unknown function %q", in.Name)
	}
	return f
}

func (b *builder) argument(f *rv.Function, in *rv.Part) text {
	if len(in.Functions) > 0 {
		b.failf("an argument of %s must be a reference without functions", f.Name)
	}
	return text(nil).add(b.reference(in))
}

// constant reports whether the result depends only on the value.
func (f *function) constant() bool {
	for _, argument := range f.arguments {
		if !argument.constant() {
			return false
		}
	}
	return f.key.constant()
}

// fold returns a literal if the piece is constant, else the piece.
func (p piece) fold() piece {
	if p.kind != pieceConstant {
		return p
	}
	for i := range p.functions {
		if !p.functions[i].constant() {
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
	case rv.FunctionRoutingBinding:
		return fiveg.AppendRoutingBinding(dst, value)
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
	case rv.FunctionRESStar:
		v := f.values(in)
		return in.src.card().AppendRESStar(dst, value, v[0], v[1], v[2])
	case rv.FunctionHXRESStar:
		return fiveg.AppendHXRESStar(dst, value, f.values(in)[0])
	}
	return dst
}

// values returns the values of the arguments. They are valid until the next call of a function.
func (f *function) values(in *Instance) (values [maxArguments][]byte) {
	s, ends := in.src, [1 + maxArguments]int{}
	s.key = s.key[:0]
	for i := range f.arguments {
		s.key = f.arguments[i].appendTo(s.key, in)
		ends[i+1] = len(s.key)
	}
	for i := range f.arguments {
		values[i] = s.key[ends[i]:ends[i+1]]
	}
	return values
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

// appendHMAC appends the HMAC of in.src.text.
func (f *function) appendHMAC(dst []byte, in *Instance) []byte {
	s := in.src
	s.key = f.key.appendTo(s.key[:0], in)
	var sum [hmac.Size]byte
	sum, s.key = hmac.Sum(s.key, s.key, s.text)
	return hex.AppendEncode(dst, sum[:])
}
