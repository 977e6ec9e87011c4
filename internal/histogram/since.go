package histogram

import (
	"bytes"
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
	inner    []byte
	counters []counter
}

// counter is a counter that is not zero.
type counter struct {
	i int
	n int64
}

// Without returns the values of h that are not in part, which has some of the values of h. Its minimum and maximum are
// exact, unless they could be values of part: then they are those of buckets. It returns nil if part has other values.
// The result has no unanswered requests.
func (h *H) Without(part *H) *H {
	d := h.Since(part)
	if d == nil || d.count == 0 {
		return d
	}
	if part.count == 0 || h.min < part.min {
		d.min = h.min
	}
	if part.count == 0 || h.max > part.max {
		d.max = h.max
	}
	return d
}

// AddSince adds what now has counted beyond base, an earlier state of the same cumulative histogram. It is cheaper than
// two Decode and a Merge: it makes no histogram.
//
//   - total is a sum of the latest states of several histograms; base is part of it, and now replaces it.
//   - interval gets the difference only. Its minimum and maximum are those of buckets.
//
// Each can be nil. If it returns an error, it has not changed anything.
func (d *Adder) AddSince(now, base runnerv1alpha1.Histogram, total, interval *H) error {
	if same(&now, &base) {
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
	added, ok := subtract(a, b)
	if !ok || now.Sum < base.Sum || now.Max < base.Max || base.Count > 0 && now.Min > base.Min {
		return ErrNotLater
	}
	if total != nil {
		total.addAll(added)
		total.widen(now.Min, now.Max, now.Count-base.Count, now.Sum-base.Sum)
	}
	if interval != nil && len(added) > 0 {
		interval.addAll(added)
		last := added[len(added)-1].i
		low, _ := bounds(added[0].i)
		_, high := bounds(last)
		highest := min(high, now.Max)
		if last == index(Highest) {
			highest = now.Max
		}
		interval.widen(max(low, now.Min), highest, now.Count-base.Count, now.Sum-base.Sum)
	}
	return nil
}

func same(a, b *runnerv1alpha1.Histogram) bool {
	return a.Count == b.Count && a.Min == b.Min && a.Max == b.Max && a.Sum == b.Sum && bytes.Equal(a.Counts, b.Counts)
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

// subtract returns the counters of now that are greater than those of base, with the differences. It overwrites now. It
// returns false if a counter of now is less.
func subtract(now, base []counter) ([]counter, bool) {
	out, k := now[:0], 0
	for _, c := range now {
		if k < len(base) && base[k].i <= c.i {
			if base[k].i < c.i || base[k].n > c.n {
				return nil, false
			}
			c.n -= base[k].n
			k++
		}
		if c.n > 0 {
			out = append(out, c)
		}
	}
	return out, k == len(base)
}

// addAll adds counters in ascending order.
func (h *H) addAll(counters []counter) {
	var p *page
	n := -1
	for _, c := range counters {
		if c.i>>pageBits != n {
			if n = c.i >> pageBits; h.pages[n] == nil {
				h.grow(n)
			}
			p = h.pages[n]
		}
		p[c.i&(pageSize-1)] += c.n
	}
}

// decode returns the counters of a wire form. They are valid until the next call.
func (b *buffer) decode(in runnerv1alpha1.Histogram) ([]counter, error) {
	if len(in.Counts) == 0 {
		return nil, check(in, nil)
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
		if v < -pages*pageSize || v > maxCount {
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
func (b *buffer) inflate(raw []byte) (inner []byte, err error) {
	if len(raw) > maxEncoded {
		return nil, fmt.Errorf("%d bytes are more than any histogram of this range has", len(raw))
	}
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
