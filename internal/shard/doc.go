// Package shard deals a plan out: to the shards that are there, and to the workers of a shard. Every
// request slot, connection and variable value has exactly one owner, at each level and for any number
// of owners. When shards come, go or are lost, all is dealt anew.
//
// Slots are dealt like cards, by residue: of n owners the k-th gets the slots k, k+n, k+2n and so
// on, so the load of each owner is as even as that of the whole. Connections and variable values
// are cut into runs; of a remainder the first owners get one more each.
//
// One rule is not exact because it cannot be: a sequence of values with fewer values than there
// are owners cannot be dealt without an empty hand. Then every owner has all of it, and values
// are in use more than once at a time. The rule applies at each level by itself: 3 values over
// 2 shards are {0, 1} and {2}, disjoint, but both workers of the second shard use value 2.
package shard
