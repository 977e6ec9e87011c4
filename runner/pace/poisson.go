package pace

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
)

const (
	// blockMean is the length of a block in slots, and the mean number of points in it.
	blockMean = 256
	// positionShift is the resolution of positions: 1/2^20 of the mean interval between two slots.
	positionShift = 20
	// blocksPerMark is how many blocks are between two marks of a Poisson.
	blocksPerMark = 1024
	// maxPoints is an upper limit of the number of points in a block: the probability of more is below 10^-60.
	maxPoints = 600
)

// poisson arrivals are a Poisson process with the rate of a law. Slot k is due when the law has reached the position of
// point first+k of a process with rate 1. Positions count from the point before first, so that the first interval is
// distributed as all others.
//
// The process is divided into blocks of equal length. The number of points in a block has a Poisson distribution, and
// the points are distributed uniformly in it. Both follow from the seed and the number of the block, in integers, so
// that all workers compute the same points on all machines.
type poisson struct {
	law    law
	seed   uint64
	first  int64
	origin int64
	// marks are the numbers of points before each blocksPerMark-th block.
	marks []int64
	// counts is the distribution function of the number of points in a block.
	counts []uint64
	// block is the current block, and before the number of points before it. points are those in it, ascending.
	block, before int64
	points        []int64
	generator     rand.PCG
}

// newPoisson returns the arrivals of a process from point first on. Before are those of the same process with an
// earlier law, or nil.
func newPoisson(l law, seed uint64, first int64, before *poisson) *poisson {
	p := &poisson{law: l, seed: seed, first: first, marks: []int64{0}, counts: distribution(), points: make([]int64, 0,
		maxPoints)}
	if before != nil {
		p.marks = slices.Clip(before.marks)
	}
	p.enter(0, 0)
	if first > 0 {
		p.origin = p.position(first - 1)
	}
	return p
}

// Due implements Arrivals.
func (p *poisson) Due(k int64) int64 {
	if k > math.MaxInt64>>(positionShift+1)-p.first {
		return Never
	}
	return p.law.offset(p.position(p.first+k)-p.origin, positionShift)
}

// Before implements Arrivals.
func (p *poisson) Before(offset int64) int64 {
	limit := p.law.units(max(0, offset), positionShift)
	if limit > math.MaxInt64-p.origin-blockMean<<positionShift {
		return Never
	}
	limit += p.origin
	p.seek(func(next, _ int64) bool { return next*(blockMean<<positionShift) < limit })
	n, _ := slices.BinarySearch(p.points, limit)
	return max(0, p.before+int64(n)-p.first)
}

// position returns the position of a point.
func (p *poisson) position(n int64) int64 {
	if i := n - p.before; i >= 0 && i < int64(len(p.points)) {
		return p.points[i]
	}
	p.seek(func(_, before int64) bool { return before <= n })
	return p.points[n-p.before]
}

// seek enters the last block for which reached is true. reached gets the number of a block and the number of points
// before it. It is true for block 0, and false for all blocks after the first for which it is false.
func (p *poisson) seek(reached func(block, before int64) bool) {
	block, before := p.block, p.before
	later := p.marks[1:]
	mark := sort.Search(len(later), func(i int) bool { return !reached(int64(i+1)*blocksPerMark, later[i]) })
	if at := int64(mark) * blocksPerMark; at > block || !reached(block, before) {
		block, before = at, p.marks[mark]
	}
	for {
		next := before + p.count(block)
		if !reached(block+1, next) {
			break
		}
		block, before = block+1, next
		if block == int64(len(p.marks))*blocksPerMark {
			p.marks = append(p.marks, before)
		}
	}
	if block != p.block {
		p.enter(block, before)
	}
}

// count returns the number of points in a block.
func (p *poisson) count(block int64) int64 {
	p.generator.Seed(p.seed, uint64(block))
	n, _ := slices.BinarySearch(p.counts, p.generator.Uint64())
	return int64(n)
}

// enter computes the points of a block.
func (p *poisson) enter(block, before int64) {
	p.block, p.before = block, before
	n := p.count(block)
	p.points = p.points[:0]
	for range n {
		within, _ := bits.Mul64(p.generator.Uint64(), blockMean<<positionShift)
		p.points = append(p.points, block*(blockMean<<positionShift)+int64(within))
	}
	slices.Sort(p.points)
}

// distribution returns the distribution function of the number of points in a block: entry n is 2^64 times the
// probability of at most n points. The products are converted to float64, so that no compiler fuses them with the
// additions.
func distribution() []uint64 {
	out := make([]uint64, maxPoints)
	probability, sum := 6.61626105670948527686e-112, 0.0 // exp(-blockMean)
	for n := range out {
		sum += probability
		out[n] = math.MaxUint64
		if sum < 1 {
			out[n] = uint64(sum * (1 << 64))
		}
		probability = float64(probability * blockMean / float64(n+1))
	}
	return out
}

// burst arrivals are due size at a time: each slot of a burst is due when its first slot would be due alone.
type burst struct {
	of   Arrivals
	size int64
}

// Due implements Arrivals.
func (b burst) Due(k int64) int64 { return b.of.Due(k - k%b.size) }

// Before implements Arrivals.
func (b burst) Before(offset int64) int64 {
	n := b.of.Before(offset)
	if rest := n % b.size; rest > 0 {
		return add(n, b.size-rest)
	}
	return n
}

// alone returns the arrivals that slots have without bursts. They say how long a stage with a number of requests lasts,
// because its last burst may be smaller.
func alone(a Arrivals) Arrivals {
	if b, ok := a.(burst); ok {
		return b.of
	}
	return a
}
