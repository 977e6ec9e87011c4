package v1alpha1

// Condition types of a LoadTest. docs/spec/loadtest.md has the truth table. All but SpecChanged,
// Reconciling and Stalled are always there; those three are there when they are True.
const (
	// ConditionPlanReady: the spec has been compiled. False says what is wrong with it, with
	// the field's path.
	ConditionPlanReady = "PlanReady"
	// ConditionRunnersReady: every runner that the test was started with, or is to have by now, has its
	// share and all its connections, and setup is done.
	ConditionRunnersReady = "RunnersReady"
	// ConditionRunning: load is being sent.
	ConditionRunning = "Running"
	// ConditionThresholdsMet: every threshold holds; Unknown until the end.
	ConditionThresholdsMet = "ThresholdsMet"
	// ConditionFinished: True at any end. It is the one to wait on.
	ConditionFinished = "Finished"
	// ConditionSucceeded: the plan was executed whole. Unknown in flight.
	ConditionSucceeded = "Succeeded"
	// ConditionPassed: succeeded, thresholds met, the generator was not the bottleneck, and nothing of
	// the result is missing; Unknown in flight and when the result is inconclusive.
	ConditionPassed = "Passed"
	// ConditionReconciling is what kstatus looks at: present and True while the test is on its
	// way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is what kstatus looks at: present and True when nothing will change
	// without the user.
	ConditionStalled = "Stalled"
	// ConditionSpecChanged: True when the spec was edited in a way that the run does not follow: after
	// it had finished, for the edit reruns nothing, in the moment of its start, or to a number of shards
	// that the load cannot be dealt to.
	ConditionSpecChanged = "SpecChanged"
)

// Reasons of ConditionPlanReady.
const (
	// ReasonCompiled: the plan has been made.
	ReasonCompiled = "Compiled"
	// ReasonInvalidSpec: the spec has errors that the API server cannot see.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonPlanTooLarge: the compressed plan does not fit into a ConfigMap.
	ReasonPlanTooLarge = "PlanTooLarge"
	// ReasonNameConflict: an object of a name the run needs exists and belongs to another.
	ReasonNameConflict = "NameConflict"
)

// Reasons of ConditionRunnersReady.
const (
	// ReasonWaitingForPods: not every runner pod is running yet.
	ReasonWaitingForPods = "WaitingForPods"
	// ReasonConnecting: not every runner has opened its connections.
	ReasonConnecting = "Connecting"
	// ReasonSettingUp: a runner runs the setup chains.
	ReasonSettingUp = "SettingUp"
	// ReasonAllReady: every runner that the test is to have is ready.
	ReasonAllReady = "AllReady"
	// ReasonJoining: the test runs, and a runner that it is to have by now is not ready yet, because the
	// test was scaled up or started with fewer than all (minShards).
	ReasonJoining = "Joining"
	// ReasonRunnerLost: a runner ended before its time.
	ReasonRunnerLost = "RunnerLost"
	// ReasonPodTrouble: a pod cannot be scheduled, its image cannot be pulled, or it fails.
	ReasonPodTrouble = "PodTrouble"
	// ReasonTargetUnreachable: a runner cannot connect to a target.
	ReasonTargetUnreachable = "TargetUnreachable"
)

// Reasons of ConditionRunning, ConditionFinished and ConditionSucceeded, beside RunnerLost,
// PodTrouble and TargetUnreachable above and PartialResult below.
const (
	// ReasonNotStarted: no load has been sent yet.
	ReasonNotStarted = "NotStarted"
	// ReasonSuspended: spec.suspend keeps the test from starting, or pauses it.
	ReasonSuspended = "Suspended"
	// ReasonLoadRunning: load is being sent.
	ReasonLoadRunning = "LoadRunning"
	// ReasonDraining: the last request of the load was sent; responses are awaited, or the teardown
	// chains run.
	ReasonDraining = "Draining"
	// ReasonInProgress: the run has not ended yet.
	ReasonInProgress = "InProgress"
	// ReasonCompleted: the plan was executed whole. With onShardLost continue or redeal that holds also
	// when a runner was lost on the way: then Succeeded and Passed have the reason PartialResult.
	ReasonCompleted = "Completed"
	// ReasonStopped: spec.stop ended the run.
	ReasonStopped = "Stopped"
	// ReasonDeadlineExceeded: spec.activeDeadlineSeconds ended the run.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonStalled: a stage without a duration had requests left, and nothing could be sent any more.
	ReasonStalled = "Stalled"
	// ReasonNoSuccess: not one request succeeded.
	ReasonNoSuccess = "NoSuccess"
	// ReasonPlanRejected: a runner cannot execute the plan; it is of another version, or a
	// machine lacks what the plan asks for.
	ReasonPlanRejected = "PlanRejected"
	// ReasonSetupFailed: a setup chain failed, so the load did not start.
	ReasonSetupFailed = "SetupFailed"
	// ReasonInternalError: a runner itself failed.
	ReasonInternalError = "InternalError"
)

// Reasons of ConditionThresholdsMet and ConditionPassed.
const (
	// ReasonNoThresholds: the spec has none.
	ReasonNoThresholds = "NoThresholds"
	// ReasonAllMet: every threshold holds.
	ReasonAllMet = "AllMet"
	// ReasonThresholdsFailed: at least one threshold failed.
	ReasonThresholdsFailed = "ThresholdsFailed"
	// ReasonTooManyErrors: the spec has no threshold on ErrorRate, and the error rate is above the default limit, 1%.
	ReasonTooManyErrors = "TooManyErrors"
	// ReasonNoChainCompleted: the spec has no threshold on ErrorRate, and every chain instance that ended was
	// aborted.
	ReasonNoChainCompleted = "NoChainCompleted"
	// ReasonTeardownFailed: a teardown chain failed.
	ReasonTeardownFailed = "TeardownFailed"
	// ReasonPassed: see ConditionPassed.
	ReasonPassed = "Passed"
	// ReasonGeneratorBound: the generator was the bottleneck.
	ReasonGeneratorBound = "GeneratorBound"
	// ReasonPartialResult: a shard was lost, which onShardLost tolerates, and its last part is missing.
	ReasonPartialResult = "PartialResult"
	// ReasonNotSucceeded: the plan was not executed whole.
	ReasonNotSucceeded = "NotSucceeded"
)

// Reasons of ConditionSpecChanged.
const (
	// ReasonEditedAfterFinish: apply the LoadTest under another name to run the new spec.
	ReasonEditedAfterFinish = "EditedAfterFinish"
	// ReasonNotInForce: the spec differs from what runs, because it was edited in the moment of the
	// start, or asks for more shards than the load can be dealt to; the run goes on as it was.
	ReasonNotInForce = "NotInForce"
)
