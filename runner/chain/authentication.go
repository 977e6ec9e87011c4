package chain

import (
	"encoding/hex"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/fiveg"
)

// appendRESStar appends RES* for the RAND in in.src.text. The arguments are K, OPc and the serving network name. It
// appends nothing if RAND, K or OPc are not hexadecimal digits of 128 bits.
func (f *function) appendRESStar(dst []byte, in *Instance) []byte {
	rand, err := rv.Key(in.src.text)
	k, ok := f.argumentKey(0, in)
	opc, also := f.argumentKey(1, in)
	if err != nil || !ok || !also {
		return dst
	}
	s := in.src
	if s.usim == nil {
		s.usim = new(fiveg.USIM)
	}
	s.usim.SetKeys(k, opc)
	s.key = f.arguments[2].appendTo(s.key[:0], in)
	res := s.usim.RESStar(rand, s.key)
	return hex.AppendEncode(dst, res[:])
}

// appendHXRESStar appends HXRES* for the RES* in in.src.text. The argument is RAND. It appends nothing if one of both is
// not hexadecimal digits of 128 bits.
func (f *function) appendHXRESStar(dst []byte, in *Instance) []byte {
	res, err := rv.Key(in.src.text)
	rand, ok := f.argumentKey(0, in)
	if err != nil || !ok {
		return dst
	}
	hxres := fiveg.HXRESStar(rand, res)
	return hex.AppendEncode(dst, hxres[:])
}

// argumentKey decodes an argument of 128 bits.
func (f *function) argumentKey(i int, in *Instance) (key [fiveg.KeySize]byte, ok bool) {
	s := in.src
	s.key = f.arguments[i].appendTo(s.key[:0], in)
	key, err := rv.Key(s.key)
	return key, err == nil
}
