package chain

import (
	"encoding/binary"
	"encoding/hex"
)

// uuids are version 4 (RFC 9562 5.4): all bits but those of version and variant are pseudo-random. A
// drawn value is a slot's number, which occurs once in the test, and different numbers give different
// UUIDs: 64 of the 122 bits are a bijection of the number.
type uuids struct{ seed uint64 }

func (*uuids) plain() bool { return true }

func (u *uuids) append(dst []byte, v int64, _ int) []byte {
	a := mix(uint64(v) ^ u.seed)
	b := mix(a + golden ^ u.seed)
	var id [16]byte
	// The version stands between the first 48 bits of a and its next 12; its last 4 follow the variant.
	binary.BigEndian.PutUint64(id[:8], a>>16<<16|4<<12|a>>4&0xfff)
	binary.BigEndian.PutUint64(id[8:], 2<<62|a&15<<58|b>>6)
	return appendUUID(dst, &id)
}

func appendUUID(dst []byte, id *[16]byte) []byte {
	from := 0
	for _, to := range [...]int{4, 6, 8, 10, 16} {
		if from > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[from:to])
		from = to
	}
	return dst
}
