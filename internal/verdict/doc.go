// Package verdict judges a run: one Outcome of a Report, a Plan's thresholds and what else is
// known. It is an ordered chain of pure checks; the first that has something to say decides.
//
//	outcome       reason             when
//	Error         PlanRejected,      a runner told this problem, whatever else happened
//	              InternalError
//	Error         SetupFailed        a setup chain failed, so the load did not start
//	Error         TargetUnreachable  a runner could not connect to a target
//	Error         RunnerLost         a shard was lost, and losses are not tolerated: thresholds are
//	                                 compared, but decide nothing
//	Error         DeadlineExceeded   the plan's deadline ended the run
//	Error         Stalled            a stage without a duration had requests left, and nothing could be sent
//	Stopped       Interrupted,       ended early on request before any measured request had an
//	              Stopped            outcome
//	Error         NoSuccess          not one measured request succeeded
//	Stopped       Interrupted,       ended early on request; thresholds are compared with what
//	              Stopped            there is, but decide nothing
//	Failed        ThresholdsFailed   a threshold failed, and the generator does not excuse it
//	Failed        TooManyErrors      no threshold is on ErrorRate, and the error rate is above DefaultMaxErrorRate
//	Failed        NoChainCompleted   no threshold is on ErrorRate, and every chain instance that ended was
//	                                 aborted
//	Failed        TeardownFailed     a teardown chain failed; with another outcome, the message says so
//	Inconclusive  GeneratorBound     the generator was the bottleneck, see below
//	Inconclusive  PartialResult      a final snapshot is missing, or a loss was tolerated; a threshold
//	                                 that failed on the known share stays Failed
//	Inconclusive  LeaseExpired       a runner sent nothing for some time, because its lease expired; as with a
//	                                 tolerated loss, a minimum of the rate that failed does not make the outcome
//	                                 Failed, and no limit on the error rate does: dropped requests count as errors
//	Passed        Passed             all thresholds passed
//	Passed        NoThresholds       there are none
//
// The generator lagged when the 99th percentile of lag, merged or of the worst shard, is above
// MaxLag, and was throttled when its CPU quota kept it from running for more than MaxThrottled of
// the measured window, on average over the shards. Either makes it the possible cause of
//
//   - a stage with a rate that reached less than MinAchieved of it: the generator was the
//     bottleneck;
//   - a minimum of the rate that failed: GeneratorBound instead of Failed;
//   - a maximum of a time that failed: likewise, for a generator that comes late answers for part
//     of each time;
//
// but never of an error rate above its maximum, nor of a time below a minimum. A rate that was not reached
// while the generator was well is the target's doing and no reason for Inconclusive: without a
// threshold on it the run passes. A test of closed loops only asks for no rate and
// excuses nothing, unless it has a rate threshold.
//
// Where the loss of a shard was tolerated, the rate is evidence of nothing that is too slow: the others may
// not have been asked for the lost part, and what it sent last is not counted, so that the rate is at
// least what was observed. A stage that fell short does not make the generator the bottleneck then, and a
// minimum of the rate that failed is shown in the message and does not make the outcome Failed. All other thresholds are judged on what there is.
//
// That exclusive CPUs were wanted and not there, or that a variable was used up, is no reason by itself;
// the message says so. The rate of a load that ended for want of values is over the time until then.
//
// ThresholdResult.Observed is exact: microseconds are written out in the limit's unit, without
// rounding, so that a value beside its limit shows on which side it is.
package verdict
