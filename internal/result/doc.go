// Package result makes one Report of the snapshots of all shards. It is the only place where
// figures of several runners meet, for the operator and the command line alike.
//
// Counters are added, histograms are merged counter by counter and summed up afterwards:
// no quantile is ever an average of quantiles. The order of the snapshots does not matter.
//
// The measured window of a stage begins when the first shard began it and ends when the last
// shard sent its last request; neither the drain nor pauses are in it. A stage with a rate that is bounded by a
// number of requests lasts, for its rate, as long as its slots do: ten slots at ten a second are
// one second, though the tenth is due after 0.9 s. When rates changed on the way, or the test was
// paused, what was asked for is what came due on the runners.
//
// All offsets count from the start instant as each runner was told it, so a runner that joined late and
// passed the stages before it in its first turn agrees with the others on when they were. A shard that
// left and came back has had two runners, which both count.
//
// The functions here are pure: the caller owns clocks, clients and logs.
package result
