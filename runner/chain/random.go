package chain

import (
	"fmt"
	"math/rand/v2"
	"sort"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// random values are drawn from a generator and have no end.
type random interface {
	values
	draw(r *rand.Rand) int64
}

func newRandom(r *rv.Random) (random, error) {
	switch {
	case r.Integer != nil:
		return newRandomInteger(r.Integer)
	case r.Hex > 0:
		return newRandomString("hex", "0123456789abcdef", r.Hex)
	case r.String != nil:
		return newRandomString("string", r.String.Alphabet, r.String.Length)
	case len(r.Choice) > 0:
		return newChoice(r.Choice)
	}
	return nil, fmt.Errorf("one of integer, hex, string and choice is required")
}

// randomInteger draws a number from min to min+span.
type randomInteger struct {
	numbers
	min  int64
	span uint64 // maximum minus min
}

func newRandomInteger(r *rv.RandomInteger) (*randomInteger, error) {
	if r.Max < r.Min || r.Width > maxWidth {
		return nil, fmt.Errorf("integer: %+v is empty or out of range", *r)
	}
	return &randomInteger{numbers: numbers{step: 1, width: r.Width}, min: r.Min, span: uint64(r.Max - r.Min)}, nil
}

// draw is uniform: Uint64N has no bias, and span is below 2^63.
func (i *randomInteger) draw(r *rand.Rand) int64 { return i.min + int64(r.Uint64N(i.span+1)) }

// randomString draws a seed. The characters are made from the seed when they are needed, so there are at most 2^64
// different strings.
type randomString struct {
	alphabet string
	length   int
	safe     bool
}

func newRandomString(field, alphabet string, length int) (*randomString, error) {
	if length < 1 || length > maxPad || alphabet == "" || len(alphabet) > 256 {
		return nil, fmt.Errorf("%s: a length from 1 to %d and an alphabet of at most 256 bytes are required", field, maxPad)
	}
	return &randomString{alphabet: alphabet, length: length, safe: isPlain([]byte(alphabet))}, nil
}

func (s *randomString) Plain() bool { return s.safe }

func (s *randomString) draw(r *rand.Rand) int64 { return int64(r.Uint64()) }

// append uses 32 bits for each character. It rejects the values that would make some characters more frequent (Lemire,
// Fast Random Integer Generation in an Interval, 2019).
func (s *randomString) Append(dst []byte, v int64, _ int) []byte {
	n := uint64(len(s.alphabet))
	unfair := (1 << 32) % n
	state := uint64(v)
	for left := s.length; left > 0; {
		state += golden
		for w, half := mix(state), 0; half < 2 && left > 0; half++ {
			product := w & (1<<32 - 1) * n
			w >>= 32
			if product&(1<<32-1) < unfair {
				continue
			}
			dst = append(dst, s.alphabet[product>>32])
			left--
		}
	}
	return dst
}

// choice draws an index.
type choice struct {
	list
	// below[i] is the sum of the weights from 0 to i.
	below []uint64
}

func newChoice(all []rv.Choice) (*choice, error) {
	var items []string
	c := &choice{}
	sum := uint64(0)
	for i := range all {
		if all[i].Weight < 1 || all[i].Weight > 1<<31 {
			return nil, fmt.Errorf("choice[%d].weight: %d is out of range", i, all[i].Weight)
		}
		sum += uint64(all[i].Weight)
		items = append(items, all[i].Value)
		c.below = append(c.below, sum)
	}
	c.list = *newList(items)
	return c, nil
}

func (c *choice) draw(r *rand.Rand) int64 {
	x := r.Uint64N(c.below[len(c.below)-1])
	return int64(sort.Search(len(c.below), func(i int) bool { return x < c.below[i] }))
}
