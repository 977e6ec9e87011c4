package chain

import (
	"encoding/binary"
	"encoding/hex"
)

// uuids formats UUIDs of version 4 (RFC 9562 5.4). All bits except version and variant are pseudo-random. A drawn value
// is the number of a slot, which occurs once in the test. Different numbers have different UUIDs, because 64 of the 122
// bits are a bijection of the number.
type uuids struct{ seed uint64 }

func (*uuids) Plain() bool { return true }

func (u *uuids) Append(dst []byte, v int64, _ int) []byte {
	a := mix(uint64(v) ^ u.seed)
	b := mix(a + golden ^ u.seed)
	var id [16]byte
	// The first 48 bits of a, the version, the next 12 bits of a. Then the variant, the last 4 bits of a, and b.
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
