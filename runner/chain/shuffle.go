package chain

import "math/bits"

// permutation is a bijection of the numbers from 0 to size-1. It is a Feistel network over the next power of four. A
// result that is not below the size goes through the network again (cycle walking: Black and Rogaway, Ciphers with
// Arbitrary Finite Domains, 2002). On average this takes at most four rounds. It needs no memory.
type permutation struct {
	size uint64
	half uint
	keys [6]uint64
}

func newPermutation(size int64, seed uint64) permutation {
	p := permutation{size: uint64(size)}
	p.half = uint(bits.Len64(p.size-1)+1) / 2
	for i := range p.keys {
		p.keys[i] = mix(seed + uint64(i+1)*golden)
	}
	return p
}

// at returns the image of i, 0 <= i < size.
func (p *permutation) at(i int64) int64 {
	mask := uint64(1)<<p.half - 1
	x := uint64(i)
	for {
		left, right := x>>p.half, x&mask
		for _, k := range p.keys {
			left, right = right, left^mix(right+k)&mask
		}
		if x = left<<p.half | right; x < p.size {
			return int64(x)
		}
	}
}

// of returns the number whose image is x.
func (p *permutation) of(x int64) int64 {
	mask := uint64(1)<<p.half - 1
	i := uint64(x)
	for {
		left, right := i>>p.half, i&mask
		for k := len(p.keys) - 1; k >= 0; k-- {
			left, right = right^mix(left+p.keys[k])&mask, left
		}
		if i = left<<p.half | right; i < p.size {
			return int64(i)
		}
	}
}

// golden is 2^64 divided by the golden ratio, the step of SplitMix64 (Steele, Lea and Flood, Fast
// Splittable Pseudorandom Number Generators, 2014).
const golden = 0x9e3779b97f4a7c15

// mix is a bijection of 64 bits onto themselves in which each bit depends on all: the finalizer of
// SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// seedOf derives a seed from several numbers.
func seedOf(parts ...uint64) uint64 {
	seed := uint64(0)
	for _, p := range parts {
		seed = mix(seed + golden + p)
	}
	return seed
}
