package v1alpha1

// Condition types of a LoadTest. docs/reference/loadtest/status.md has the truth table. PlanReady, RunnersReady,
// Finished, Succeeded and Passed are always present. Reconciling and Stalled are present only while they
// are True.
const (
	// ConditionPlanReady is True when the operator has compiled the spec. When it is False, the message
	// has each problem with the path of its field.
	ConditionPlanReady = "PlanReady"
	// ConditionRunnersReady is True when every desired runner has its share of the load and all its
	// connections, and the setup chains have ended.
	ConditionRunnersReady = "RunnersReady"
	// ConditionFinished is True when the test has ended, for any reason. Wait for this one. While it is
	// False, its reason is the state of the test.
	ConditionFinished = "Finished"
	// ConditionSucceeded is True when the test ran to its end, and Unknown until it has finished. It does not
	// depend on thresholds.
	ConditionSucceeded = "Succeeded"
	// ConditionPassed is True when the test succeeded, all thresholds passed, the generator was not the
	// bottleneck and the result is complete. It is Unknown until the test has finished, and when the result
	// is inconclusive.
	ConditionPassed = "Passed"
	// ConditionReconciling is for kstatus. It is True until the test has finished, unless the test is Stalled.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is for kstatus. It is True when nothing changes until a user acts: the spec is
	// invalid, a name is taken, or the test failed to run.
	ConditionStalled = "Stalled"
	// ConditionReportStored is True when the operator has uploaded the report to the storage of its configuration
	// (resultStorage), and False after a failed upload. A test has it only if it has ended and resultStorage is set.
	ConditionReportStored = "ReportStored"
)

// Reasons of ConditionReportStored.
const (
	// ReasonUploading means that the operator uploads the report for the first time.
	ReasonUploading = "Uploading"
	// ReasonUploaded means that the storage has the report.
	ReasonUploaded = "Uploaded"
	// ReasonUploadFailed means that the last upload failed, and that the operator tries again. The message has the error.
	ReasonUploadFailed = "UploadFailed"
	// ReasonUploadAbandoned means that the report is not uploaded, and that the operator does not try again: the deadline
	// of the uploads has passed, or the report was deleted. The message has the last error.
	ReasonUploadAbandoned = "UploadAbandoned"
)

// Reasons of ConditionPlanReady.
const (
	// ReasonCompiled means that the operator has compiled the spec to a plan.
	ReasonCompiled = "Compiled"
	// ReasonInvalidSpec means that the spec has errors that the API server cannot detect.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonDeniedByPolicy means that the operator's configuration does not allow the spec, or that a runner must not
	// connect to the address of a target. The message has the limit or the rule. It is a reason of ConditionFinished and
	// of ConditionSucceeded, too.
	ReasonDeniedByPolicy = "DeniedByPolicy"
	// ReasonPlanTooLarge means that the compressed plan does not fit into a ConfigMap.
	ReasonPlanTooLarge = "PlanTooLarge"
	// ReasonNameConflict means that an object of a name that the test needs exists and has another owner.
	ReasonNameConflict = "NameConflict"
)

// Reasons of ConditionRunnersReady. Unschedulable, ImagePullFailed, CreateContainerFailed, CrashLoopBackOff,
// MountFailed, PodCreationFailed and JobCreationFailed are also reasons of ConditionFinished and
// ConditionSucceeded, when the test did not start because of them.
const (
	// ReasonWaitingForPods means that not all runner pods are running yet.
	ReasonWaitingForPods = "WaitingForPods"
	// ReasonQueued means that a queue such as Kueue has suspended the Job of the runners.
	ReasonQueued = "Queued"
	// ReasonWaitingForLock means that another LoadTest of the namespace has the lock of the test (spec.lock), or was
	// created earlier and waits for it, too. The message names it.
	ReasonWaitingForLock = "WaitingForLock"
	// ReasonLockNotGiven means that no LoadTest can use the lock of the test (spec.lock): a Job or a pod of its last
	// holder, which the message names, has not ended, or the lock was never given to a LoadTest, or its holder does not
	// need it any more and the API server refuses to give it to another one.
	ReasonLockNotGiven = "LockNotGiven"
	// ReasonJobCreationFailed means that the API server refuses the Job of the runners.
	ReasonJobCreationFailed = "JobCreationFailed"
	// ReasonWriteRefused means that the API server refuses an object of the test other than the Job, for example
	// because of a quota. The operator tries again. It is also a reason of ConditionReconciling and
	// ConditionFinished.
	ReasonWriteRefused = "WriteRefused"
	// ReasonPodCreationFailed means that the Job has not created all its pods after ten seconds.
	ReasonPodCreationFailed = "PodCreationFailed"
	// ReasonUnschedulable means that the scheduler finds no node for a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed means that a node cannot pull the image of a container.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonMountFailed means that a pod waits for its volumes; a ConfigMap, Secret or key is probably missing.
	ReasonMountFailed = "MountFailed"
	// ReasonCreateContainerFailed means that a node cannot create or start a container.
	ReasonCreateContainerFailed = "CreateContainerFailed"
	// ReasonCrashLoopBackOff means that a container exits repeatedly.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonConnecting means that not all runners have opened their connections.
	ReasonConnecting = "Connecting"
	// ReasonTargetUnreachable means that a runner cannot connect to a target.
	ReasonTargetUnreachable = "TargetUnreachable"
	// ReasonNotAuthorized means that a runner has no authorization for a target, because the token endpoint did not grant
	// a token or a file is wrong. It is also a reason of ConditionFinished, ConditionSucceeded and ConditionPassed.
	ReasonNotAuthorized = "NotAuthorized"
	// ReasonSettingUp means that a runner runs the setup chains.
	ReasonSettingUp = "SettingUp"
	// ReasonAllReady means that all desired runners are ready.
	ReasonAllReady = "AllReady"
	// ReasonJoining means that the test runs and a desired runner is not ready yet, because the test was
	// scaled up or started with fewer than all shards (minShards).
	ReasonJoining = "Joining"
	// ReasonRunnerSilent means that a runner with a share of the load does not answer. It may still send load.
	ReasonRunnerSilent = "RunnerSilent"
	// ReasonRunnerLost means that a runner with a share of the load ended before the test did.
	ReasonRunnerLost = "RunnerLost"
	// ReasonRunRecordMissing means that a started test has no run record, because a user deleted it.
	ReasonRunRecordMissing = "RunRecordMissing"
)

// States of a test: reasons of ConditionFinished while it is False, and of ConditionReconciling.
const (
	// ReasonNotStarted means that the test has not started; RunnersReady shows what it waits for.
	ReasonNotStarted = "NotStarted"
	// ReasonRunning means that the runners send load.
	ReasonRunning = "Running"
	// ReasonSuspended means that spec.suspend keeps the test from starting, or pauses it.
	ReasonSuspended = "Suspended"
	// ReasonDraining means that all requests of the load are sent, and the runners wait for responses or run
	// the teardown chains.
	ReasonDraining = "Draining"
	// ReasonChangeNotApplied means that the spec has a change that has no effect on the test. It is a reason
	// of ConditionReconciling and of an event.
	ReasonChangeNotApplied = "ChangeNotApplied"
	// ReasonRetryingAfterError means that the operator has failed three or more times in a row to continue the test, and
	// tries again. The message has the last error. It is a reason of ConditionReconciling.
	ReasonRetryingAfterError = "RetryingAfterError"
	// ReasonInProgress is the reason of ConditionSucceeded and ConditionPassed until the test has finished.
	ReasonInProgress = "InProgress"
)

// Reasons of ConditionFinished when it is True and of ConditionSucceeded.
const (
	// ReasonCompleted means that the test ran to its end. With onShardLost Continue or Rebalance that is also
	// possible after a runner was lost; Succeeded and Passed then have the reason PartialResult.
	ReasonCompleted = "Completed"
	// ReasonStopped means that spec.stop ended the test.
	ReasonStopped = "Stopped"
	// ReasonDeadlineExceeded means that spec.activeDeadlineSeconds ended the test.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonStartTimeout means that the runners were not ready in time.
	ReasonStartTimeout = "StartTimeout"
	// ReasonStalled means that a stage without a duration had requests left, and nothing could be sent any
	// more.
	ReasonStalled = "Stalled"
	// ReasonNoSuccess means that no request got a response.
	ReasonNoSuccess = "NoSuccess"
	// ReasonVersionMismatch means that the runner image and the operator have different versions, and cannot run this
	// test together.
	ReasonVersionMismatch = "VersionMismatch"
	// ReasonPlanRejected means that a runner cannot execute the plan, for example because its machine lacks what the
	// plan needs.
	ReasonPlanRejected = "PlanRejected"
	// ReasonSetupFailed means that a setup chain failed, so the load did not start.
	ReasonSetupFailed = "SetupFailed"
	// ReasonInternalError means that a runner failed.
	ReasonInternalError = "InternalError"
)

// Reasons of ConditionPassed.
const (
	// ReasonPassed means that the test passed.
	ReasonPassed = "Passed"
	// ReasonThresholdsFailed means that a threshold failed.
	ReasonThresholdsFailed = "ThresholdsFailed"
	// ReasonTooManyErrors means that the spec has no threshold on the error rate, and the rate is above the
	// default limit of 1%.
	ReasonTooManyErrors = "TooManyErrors"
	// ReasonTooManyNotificationErrors means that more than 1% of the steps that awaited a notification for a listener
	// received none that passed their checks.
	ReasonTooManyNotificationErrors = "TooManyNotificationErrors"
	// ReasonNoChainCompleted means that no chain instance was completed: all were aborted, or were under way when the load
	// and gracefulStop ended. With a threshold on the error rate, it means that responses lacked what a capture needs.
	ReasonNoChainCompleted = "NoChainCompleted"
	// ReasonTeardownFailed means that a teardown chain failed.
	ReasonTeardownFailed = "TeardownFailed"
	// ReasonGeneratorBound means that the generator was the bottleneck, so the result says nothing about the
	// target.
	ReasonGeneratorBound = "GeneratorBound"
	// ReasonPartialResult means that a shard was lost and onShardLost let the others continue, so a part of the
	// result is missing.
	ReasonPartialResult = "PartialResult"
	// ReasonNotObserved means that an observation has no samples, and a threshold is on it.
	ReasonNotObserved = "NotObserved"
	// ReasonNotCompared means that a threshold with a baseline could not be compared with it.
	ReasonNotCompared = "NotCompared"
	// ReasonLeaseExpired means that a runner sent nothing for some time, because the operator could not renew its
	// lease in time. See spec.runner.leaseDuration.
	ReasonLeaseExpired = "LeaseExpired"
	// ReasonSearchNotFound means that no load of a search held.
	ReasonSearchNotFound = "SearchNotFound"
	// ReasonSearchMoved means that probes of a search at the same load have different results.
	ReasonSearchMoved = "SearchMoved"
	// ReasonSearchIncomplete means that a search used all its probes, or the run ended, before there was a result.
	ReasonSearchIncomplete = "SearchIncomplete"
	// ReasonNotSucceeded means that the test did not run to its end.
	ReasonNotSucceeded = "NotSucceeded"
)

// Reasons of events, in addition to the reasons of conditions.
const (
	// EventStarted means that the operator started the runners.
	EventStarted = "Started"
	// EventResumed means that spec.suspend is false again.
	EventResumed = "Resumed"
	// EventRateChanged means that a new rate took effect.
	EventRateChanged = "RateChanged"
	// EventScaled means that a new number of shards took effect.
	EventScaled = "Scaled"
	// EventProtocolsDiffer means that shards found different protocols at a URL of a target with protocol Auto.
	EventProtocolsDiffer = "ProtocolsDiffer"
	// EventRunnerJoined means that a new runner got a share of the load.
	EventRunnerJoined = "RunnerJoined"
	// EventRunnerAnswers means that all runners answer again after some did not.
	EventRunnerAnswers = "RunnerAnswers"
	// EventRunnerLeft means that a runner left after the test was scaled down.
	EventRunnerLeft = "RunnerLeft"
	// EventLoadRebalanced means that the other runners got the share of a lost one.
	EventLoadRebalanced = "LoadRebalanced"
)

// EditedAfterFinish ends the message of ConditionFinished when the spec changed after the test finished.
const EditedAfterFinish = "; the spec changed after that, which has no effect: apply it under another name to run it"

// TTLIgnored is part of the message of ConditionFinished when the TTL of a finished test has no effect.
const TTLIgnored = "; its TTL has no effect, because Argo CD or Flux manages the LoadTest and would create it again, which repeats the load"

// ReasonTTLIgnored is the reason of an event: the TTL of a finished test has no effect, because Argo CD or Flux manages
// the LoadTest.
const ReasonTTLIgnored = "TTLIgnored"
