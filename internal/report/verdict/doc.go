// Package verdict returns the Verdict of a run from its Report, the Plan's thresholds and Facts. Checks run in a fixed
// order. Each is a pure function. The first check that returns a Verdict decides.
//
//	outcome       reason             when
//	Error         PlanRejected,      a runner reported this problem
//	              InternalError
//	Error         SetupFailed        a setup chain failed, so the load did not start
//	Error         DeniedByPolicy     the policy of the plan denies a connection
//	Error         TargetUnreachable  a runner could not connect to a target
//	Error         NotAuthorized      a runner got no authorization for a target
//	Error         RunnerLost         the loss of a runner ended the run, or a shard was lost, and losses are not
//	                                 tolerated: thresholds are compared, but decide nothing
//	Error         DeadlineExceeded   the plan's deadline ended the run
//	Error         Stalled            a stage without a duration had requests left, and nothing could be sent
//	Stopped       Interrupted,       ended early on request; thresholds are compared with the
//	              Stopped            known results, but decide nothing
//	Error         NotAuthorized      not one measured request succeeded, and some were sent without authorization
//	Error         NoSuccess          not one measured request got a response
//	Inconclusive  NotAuthorized      requests were sent without authorization, because a token had expired: the
//	                                 message has the thresholds that failed
//	Failed        ThresholdsFailed   a threshold failed, and the generator does not excuse it
//	Failed        TooManyErrors      no threshold is on ErrorRate, and the error rate is above defaultMaxErrorRate
//	Failed        TooManyNotifi-     no threshold is on NotificationErrorRate, and more than defaultMaxErrorRate of
//	              cationErrors       the measured steps that awaited a notification of a listener did not receive
//	                                 one that passed their checks
//	Failed        NoChainCompleted   no threshold is on ErrorRate, or a response lacked what a capture needs;
//	                                 chain instances started, and none was completed, within gracefulStop either
//	Failed        TeardownFailed     a teardown chain failed; with another outcome, the message says so
//	Inconclusive  GeneratorBound     the generator was the bottleneck, see below
//	Inconclusive  PartialResult      a final snapshot is missing, or a loss was tolerated; a threshold
//	                                 that failed on the known share stays Failed
//	Inconclusive  LeaseExpired       a runner sent nothing for some time, because its lease expired; as with a
//	                                 tolerated loss, a minimum of the rate that failed does not make the outcome
//	                                 Failed, and no limit on the error rate does: dropped requests count as errors
//	Inconclusive  GeneratorBound     limits.requestsPerSecond of the operator's configuration held back more than
//	                                 defaultMaxErrorRate of the requests, or a threshold failed that this excuses:
//	                                 a minimum of the rate, or a limit on the error rate or on a time that would
//	                                 have held without the requests that the limit dropped
//	Inconclusive  NotCompared        a threshold with a baseline could not be compared
//	Inconclusive  NotObserved        an observation that a threshold is on has no samples
//	Passed        Passed             all thresholds passed
//	Passed        NoThresholds       the plan has no thresholds
//
// The generator lagged if the 99th percentile of lag, of all shards or of the worst shard, is above MaxLag. It was
// throttled if its CPU quota kept it from running for more than MaxThrottled of the measured window, on average over
// the shards. A generator that lagged or was throttled can be the cause of three results:
//
//   - A stage with a rate reached less than minAchieved of it: the outcome is Inconclusive, GeneratorBound.
//   - A minimum of the rate failed: the outcome is Inconclusive, GeneratorBound, and not Failed.
//   - A maximum of a time failed: likewise, because response times contain the delay of the generator. But if the time
//     is above its maximum by more than twice the largest lag, and the generator was not throttled and used less than
//     MaxBusy of its CPUs, the target is the cause.
//
// The message then recommends a number of shards that is likely to be enough. It follows from the rate asked for, the
// rate achieved and the CPU time of a request; see workersFor. If the report has a bound of connections or streams
// that the rate exceeds, the message names it as the bottleneck and has its advice instead.
//
// It is never the cause of an error rate above its maximum, or of a time below its minimum. If the generator did not
// lag and was not throttled, the target is the cause of a rate that was not reached: without a threshold on the rate,
// the run passes. A test with only closed-loop stages asks for no rate: without a threshold on the rate, the
// generator is never the cause of its results.
//
// If the loss of a shard was tolerated, the report does not prove that a rate was too low: the other shards may not
// have been asked for the share of the lost shard, and what it sent after its last snapshot is not counted. Then a
// stage that did not reach its rate does not make the outcome GeneratorBound, and a minimum of the rate that failed
// is in the message, but the outcome is not Failed. All other thresholds are compared with the known results.
//
// Missing exclusive CPUs and variables without values left have no reason of their own; the message mentions them. If
// the load ended because a variable had no values left, the rate is the rate until then.
//
// ThresholdResult.Observed is exact: microseconds are written in the limit's unit without rounding, so that it shows on
// which side of the limit a value is.
package verdict
