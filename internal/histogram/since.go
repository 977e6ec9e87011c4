package histogram

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// ErrNotLater says that a histogram is not a later state of another one.
var ErrNotLater = errors.New("decoding histogram: it counts less than an earlier state of it")

// Adder adds up histograms in wire form. It keeps its memory between calls. The zero value is ready to use.
type Adder struct{ now, base buffer }

// buffer has the parts of a wire form.
type buffer struct {
	raw, inner []byte
	counters   []counter
}

// counter is a counter that is not zero.
type counter struct {
	i int
	n int64
}

// AddSince adds what now has counted beyond base, an earlier state of the same cumulative histogram. It is cheaper than two Decode
// and a Merge: it makes no histogram.
//
//   - total is a sum of the latest states of several histograms; base is part of it, and now replaces it.
//   - interval gets the difference only. Its minimum and maximum are those of buckets.
//
// Each can be nil. If it returns an error, it has not changed anything.
func (d *Adder) AddSince(now, base runnerv1alpha1.Histogram, total, interval *H) error {
	if now == base {
		return nil
	}
	a, err := d.now.decode(now)
	if err != nil {
		return fmt.Errorf("decoding histogram: %w", err)
	}
	b, err := d.base.decode(base)
	if err != nil {
		return fmt.Errorf("decoding histogram: %w", err)
	}
	if now.Sum < base.Sum || now.Max < base.Max || base.Count > 0 && now.Min > base.Min || !each(a, b, nil) {
		return ErrNotLater
	}
	if total != nil {
		each(a, b, total.add)
		total.widen(now.Min, now.Max, now.Count-base.Count, now.Sum-base.Sum)
	}
	if interval != nil && now.Count > base.Count {
		lowest, highest := int64(-1), int64(0)
		each(a, b, func(i int, n int64) {
			interval.add(i, n)
			low, high := bounds(i)
			if lowest < 0 {
				lowest = max(low, now.Min)
			}
			highest = min(high, now.Max)
			if i == index(Highest) {
				highest = now.Max
			}
		})
		interval.widen(lowest, highest, now.Count-base.Count, now.Sum-base.Sum)
	}
	return nil
}

// widen takes over the exact figures of values that were added to the counters.
func (h *H) widen(lowest, highest, count, sum int64) {
	if count == 0 {
		return
	}
	if h.count == 0 || lowest < h.min {
		h.min = lowest
	}
	h.max = max(h.max, highest)
	h.count = addSaturated(h.count, count)
	h.sum = addSaturated(h.sum, sum)
}

// each calls f for the counters of now that are greater than those of base, in ascending order. It returns false if one of now is
// less.
func each(now, base []counter, f func(i int, n int64)) bool {
	k := 0
	for _, c := range now {
		if k < len(base) && base[k].i <= c.i {
			if base[k].i < c.i || base[k].n > c.n {
				return false
			}
			c.n -= base[k].n
			k++
		}
		if c.n > 0 && f != nil {
			f(c.i, c.n)
		}
	}
	return k == len(base)
}

// decode returns the counters of a wire form. They are valid until the next call.
func (b *buffer) decode(in runnerv1alpha1.Histogram) ([]counter, error) {
	if in.Counts == "" {
		return nil, checkEmpty(in)
	}
	payload, err := b.inflate(in.Counts)
	if err != nil {
		return nil, err
	}
	if b.counters, err = appendCounters(b.counters[:0], payload); err != nil {
		return nil, err
	}
	return b.counters, check(in, b.counters)
}

// appendCounters reads the counters that are not zero.
func appendCounters(dst []counter, payload []byte) ([]counter, error) {
	i := 0
	for at := 0; at < len(payload); {
		var v int64
		if c := payload[at]; c < 0x80 { // most are one byte
			v = int64(c>>1) ^ -int64(c&1)
			at++
		} else {
			var n int
			if v, n = varint(payload[at:]); n == 0 {
				return dst, io.ErrUnexpectedEOF
			}
			at += n
		}
		if v < -pages*pageSize || v > MaxCount {
			return dst, fmt.Errorf("counter %d is out of range", v)
		}
		if v > 0 {
			if i > index(Highest) {
				return dst, errors.New("more counters than the range has")
			}
			dst = append(dst, counter{i, v})
		}
		i += int(max(1, -v))
		if i > pages*pageSize {
			return dst, errors.New("more counters than the range has")
		}
	}
	return dst, nil
}

// inflate takes both headers off.
func (b *buffer) inflate(encoded string) ([]byte, error) {
	if len(encoded) > maxEncoded {
		return nil, fmt.Errorf("%d bytes are more than any histogram of this range has", len(encoded))
	}
	raw, err := base64.StdEncoding.AppendDecode(b.raw[:0], []byte(encoded))
	if err != nil {
		return nil, err
	}
	b.raw = raw
	if len(raw) < outerHeader {
		return nil, fmt.Errorf("%d bytes are too few for a header", len(raw))
	}
	if c := binary.BigEndian.Uint32(raw); c&cookieMask != compressedCookie&cookieMask {
		return nil, fmt.Errorf("cookie %#x is not the cookie of the V2 compressed encoding", c)
	}
	if n := binary.BigEndian.Uint32(raw[4:]); int64(n) != int64(len(raw)-outerHeader) {
		return nil, fmt.Errorf("length %d, but %d bytes follow", n, len(raw)-outerHeader)
	}
	inner, ok := b.stored(raw[outerHeader:])
	if !ok {
		if inner, err = inflateBounded(raw[outerHeader:]); err != nil {
			return nil, err
		}
	}
	if len(inner) < innerHeader || len(inner) > innerHeader+maxPayload {
		return nil, fmt.Errorf("%d bytes of header and counters", len(inner))
	}
	return inner[innerHeader:], checkInner(inner)
}
