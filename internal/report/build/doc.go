// Package build makes one Report from the snapshots of all shards, for the operator and the command line. No other
// package merges figures of several runners.
//
// Counters are added. Histograms are merged bucket by bucket, and quantiles are computed from the result: no quantile
// is an average of quantiles. The order of the snapshots does not matter.
//
// The measured window of a stage begins when the first shard begins the stage, and ends when the last shard sends its
// last request. It contains neither the drain nor pauses. The rate of a stage that ends by its number of requests is
// over the time of its slots: ten slots at ten per second are one second, although the tenth is due after 0.9 s. If
// the rates changed during the run, or the test was paused, the number of requests that were asked for is the number
// of slots that were due on the runners.
//
// All offsets count from the start of the test as each runner knows it. A runner that joined late, and passed the
// earlier stages in its first turn, therefore has the same offsets for them as the other runners. A shard that was
// removed and added again has two runners, and both count.
//
// The functions are pure: the caller has the clocks, clients and logs.
package build
