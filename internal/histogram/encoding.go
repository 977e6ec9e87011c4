package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math"
	"math/bits"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// The HdrHistogram V2 encoding: an outer header of cookie and length, then zlib of an inner
// header and the counters, each a zig-zag LEB128 of at most 9 bytes, a run of n zeros as -n.
const (
	compressedCookie = 0x1c849304 | 0x10
	countsCookie     = 0x1c849303 | 0x10
	// The low half of a cookie's second byte is the version, the high half the word size,
	// which V2 does not use.
	cookieMask  = 0xffffff0f
	outerHeader = 8
	innerHeader = 40
	maxVarint   = 9

	maxPayload = pages * pageSize * maxVarint
	// deflate grows what it cannot compress by less than 1 in 1,000.
	maxEncoded = (outerHeader + innerHeader + maxPayload) * 65 / 64

	// maxStored is the greatest length of a stored block.
	maxStored = 1<<16 - 1

	// maxCount is the largest count that Decode accepts. A float64 represents it exactly, as JSON readers need, and the
	// sum of 256 shards does not overflow 64 bits.
	maxCount = 1 << 53
)

// Encode returns the wire form. Counts is empty when the histogram is.
func (h *H) Encode() runnerv1alpha1.Histogram {
	out := runnerv1alpha1.Histogram{Count: h.count, Min: h.min, Max: h.max, Sum: h.sum, Unanswered: h.unanswered,
		UnansweredAbove: h.limit}
	if h.count > 0 {
		out.Counts = compress(h.appendCounts(innerHeaderOf(make([]byte, 0, 8<<10))))
	}
	return out
}

func innerHeaderOf(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, countsCookie)
	dst = binary.BigEndian.AppendUint32(dst, 0) // payload length, set when it is known
	dst = binary.BigEndian.AppendUint32(dst, 0) // normalizing index offset
	dst = binary.BigEndian.AppendUint32(dst, significantDigits)
	dst = binary.BigEndian.AppendUint64(dst, 1)
	dst = binary.BigEndian.AppendUint64(dst, Highest)
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(1))
}

// appendCounts appends the counters up to the last that is not zero and sets the length.
func (h *H) appendCounts(dst []byte) []byte {
	var zeros int64
	for _, p := range h.pages {
		if p == nil {
			zeros += pageSize
			continue
		}
		for _, c := range p {
			if c == 0 {
				zeros++
				continue
			}
			if zeros > 0 {
				dst = appendZeros(dst, zeros)
				zeros = 0
			}
			dst = appendVarint(dst, c)
		}
	}
	binary.BigEndian.PutUint32(dst[4:], uint32(len(dst)-innerHeader))
	return dst
}

// appendZeros writes one zero as a counter and more as a run, as other writers do.
func appendZeros(dst []byte, n int64) []byte {
	if n == 1 {
		return appendVarint(dst, 0)
	}
	return appendVarint(dst, -n)
}

func appendVarint(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for range maxVarint - 1 {
		if u < 0x80 {
			return append(dst, byte(u))
		}
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u)) // the ninth byte has all its 8 bits
}

// compress wraps inner in zlib (RFC 1950) with stored blocks (RFC 1951 3.2.4), that is without
// compressing. A runner encodes up to 256 histograms a second: deflate takes 80 us and 800 KB of
// tables for each, to save a quarter of what is varints already.
func compress(inner []byte) []byte {
	out := make([]byte, 0, outerHeader+len(inner)+16+5*(len(inner)/maxStored+1))
	out = binary.BigEndian.AppendUint32(out, compressedCookie)
	out = binary.BigEndian.AppendUint32(out, 0)
	out = append(out, 0x78, 0x01) // deflate, 32 KB window, fastest
	for rest := inner; len(rest) > 0; {
		n := min(len(rest), maxStored)
		var final byte
		if n == len(rest) {
			final = 1
		}
		out = append(out, final)
		out = binary.LittleEndian.AppendUint16(out, uint16(n))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(n))
		out = append(out, rest[:n]...)
		rest = rest[n:]
	}
	out = binary.BigEndian.AppendUint32(out, adler32.Checksum(inner))
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-outerHeader))
	return out
}

// Decode reads the wire form. It takes only what Encode can have made, or another writer with
// the same range and digits: the counters must agree with Count, Min, Max and Sum. It needs a
// bounded amount of memory whatever the input is.
func Decode(in runnerv1alpha1.Histogram) (*H, error) {
	h, err := decode(in)
	if err != nil {
		return nil, fmt.Errorf("decoding histogram: %w", err)
	}
	return h, nil
}

func decode(in runnerv1alpha1.Histogram) (*H, error) {
	var b buffer
	counters, err := b.decode(in)
	if err != nil {
		return nil, err
	}
	if in.Unanswered < 0 || in.Unanswered > maxCount || in.UnansweredAbove < 0 || in.Unanswered == 0 &&
		in.UnansweredAbove != 0 {
		return nil, fmt.Errorf("%d requests without a response, above %d", in.Unanswered, in.UnansweredAbove)
	}
	h := New()
	h.AddUnanswered(in.Unanswered, in.UnansweredAbove)
	h.addAll(counters)
	h.widen(in.Min, in.Max, in.Count, in.Sum)
	return h, nil
}

// stored returns the contents of zlib data that has stored blocks only, as compress makes it; false: it has others, or
// the checksum is wrong. The contents of a single block are a part of in.
func (b *buffer) stored(in []byte) ([]byte, bool) {
	const header, trailer = 2, 4
	if len(in) < header+trailer || in[0] != 0x78 || in[1] != 0x01 {
		return nil, false
	}
	var out []byte
	rest := in[header:]
	for final := false; !final; {
		if len(rest) < 5+trailer || rest[0] > 1 {
			return nil, false
		}
		final = rest[0] == 1
		n := int(binary.LittleEndian.Uint16(rest[1:]))
		if binary.LittleEndian.Uint16(rest[3:]) != ^uint16(n) || len(rest) < 5+n+trailer {
			return nil, false
		}
		block := rest[5 : 5+n]
		rest = rest[5+n:]
		if final && out == nil {
			out = block
			break
		}
		if out == nil {
			out = b.inner[:0]
		}
		out = append(out, block...)
		b.inner = out
	}
	if len(rest) != trailer || adler32.Checksum(out) != binary.BigEndian.Uint32(rest) {
		return nil, false
	}
	return out, true
}

func inflateBounded(compressed []byte) (inner []byte, err error) {
	z, err := zlib.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	// Read one byte more than allowed: if it exists, the data is too large. At the end of the stream the checksum has been
	// verified.
	var b bytes.Buffer
	b.Grow(len(compressed) + bytes.MinRead) // enough for stored blocks
	if _, err := b.ReadFrom(io.LimitReader(z, innerHeader+maxPayload+1)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func checkInner(inner []byte) error {
	if c := binary.BigEndian.Uint32(inner); c&cookieMask != countsCookie&cookieMask {
		return fmt.Errorf("cookie %#x is not the cookie of the V2 encoding", c)
	}
	if n := binary.BigEndian.Uint32(inner[4:]); int64(n) != int64(len(inner)-innerHeader) {
		return fmt.Errorf("payload length %d, but %d bytes follow", n, len(inner)-innerHeader)
	}
	if !bytes.Equal(inner[8:innerHeader], innerHeaderOf(nil)[8:]) {
		return errors.New("another range or precision than 1 us to 1 h at 3 digits")
	}
	return nil
}

// varint returns the value and its length; length 0: cut off.
func varint(b []byte) (int64, int) {
	var u uint64
	for i := range min(len(b), maxVarint) {
		if i == maxVarint-1 {
			u |= uint64(b[i]) << 56
		} else {
			u |= uint64(b[i]&0x7f) << (7 * i)
		}
		if i == maxVarint-1 || b[i] < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	return 0, 0
}

// check compares the exact figures with the counters.
func check(in runnerv1alpha1.Histogram, counters []counter) error {
	var count int64
	for _, c := range counters {
		if count += c.n; count > maxCount {
			return errors.New("its values are more than possible")
		}
	}
	if in.Count != count {
		return fmt.Errorf("count is %d, but the counters add up to %d", in.Count, count)
	}
	if count == 0 {
		if in.Min != 0 || in.Max != 0 || in.Sum != 0 {
			return errors.New("no values, but a minimum, maximum or sum")
		}
		return nil
	}
	first, last := counters[0].i, counters[len(counters)-1].i
	if in.Min < 0 || in.Max < in.Min || index(min(in.Min, Highest)) != first || index(min(in.Max, Highest)) != last {
		return fmt.Errorf("minimum %d and maximum %d are not in the first and the last bucket", in.Min, in.Max)
	}
	if !sumPossible(in) {
		return fmt.Errorf("sum %d of %d values from %d to %d", in.Sum, in.Count, in.Min, in.Max)
	}
	return nil
}

// sumPossible: Count x Min <= Sum <= Count x Max, or Sum did not fit.
func sumPossible(in runnerv1alpha1.Histogram) bool {
	if in.Sum < 0 {
		return false
	}
	high, low := bits.Mul64(uint64(in.Count), uint64(in.Max))
	belowMax := high > 0 || uint64(in.Sum) <= low
	high, low = bits.Mul64(uint64(in.Count), uint64(in.Min))
	aboveMin := high == 0 && low <= uint64(in.Sum) || in.Sum == math.MaxInt64
	return belowMax && aboveMin
}
