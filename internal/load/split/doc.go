// Package split distributes a plan over shards, and the share of a shard over its workers. Every slot, connection and
// variable value has exactly one owner, at each level and for any number of owners. If shards are added, removed or
// lost, Distribute computes all shares again.
//
// Slots are distributed by residue: of n owners the k-th has the slots k, k+n, k+2n and so on. The load of each owner
// is therefore as even as the load of the test. Connections and variable values are cut into blocks. If the blocks
// cannot be equal, the first owners have one connection or value more.
//
// There is one exception: if a sequence has fewer values than there are owners, every owner has all values, and a value
// is used more than once at a time. The exception is decided at each level. For example, 3 values over 2 shards are
// {0, 1} and {2}, but both workers of the second shard use value 2.
package split
