package h3

// readVarint reads an integer of QUIC (RFC 9000 16). n is 0 if p has not all of it.
func readVarint(p []byte) (v uint64, n int) {
	if len(p) == 0 {
		return 0, 0
	}
	n = 1 << (p[0] >> 6)
	if len(p) < n {
		return 0, 0
	}
	v = uint64(p[0] & 0x3f)
	for _, b := range p[1:n] {
		v = v<<8 | uint64(b)
	}
	return v, n
}

// appendVarint appends an integer below 2^62 in its shortest form.
func appendVarint(dst []byte, v uint64) []byte {
	switch {
	case v < 1<<6:
		return append(dst, byte(v))
	case v < 1<<14:
		return append(dst, 0x40|byte(v>>8), byte(v))
	case v < 1<<30:
		return append(dst, 0x80|byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return append(dst, 0xc0|byte(v>>56), byte(v>>48), byte(v>>40), byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8),
		byte(v))
}
