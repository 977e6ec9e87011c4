// Package pace computes when requests are due. It reads no clock: instants are nanoseconds of the caller's clock.
//
// The requests of a stage have numbers, which are called slots. Arrivals computes when slot n is due, and how many
// slots are due before an instant. It consists of a law, which is the integral of the rate over time, and of the
// positions of the slots on this integral: even, in bursts, or the points of a Poisson process. Shards and workers
// therefore share a rate without communication: each takes the slots of its own residues.
//
// A Schedule is a list of segments. In a segment nothing changes: it belongs to one stage, has one rate and one share,
// and is suspended or not. A change appends a segment. A change that the worker learns of late takes effect at its
// instant, too: the segments after that instant are derived again, and the worker does not take a slot twice.
package pace
