package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LoadTestSchedule creates LoadTests at the times of a cron expression. Each LoadTest is named after the schedule and
// its scheduled time, so that the operator creates at most one for each scheduled time. A LoadTest that the schedule
// created is deleted with it. The name of a LoadTestSchedule has at most 41 characters, because the scheduled time is
// appended to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=lts,categories=h2surge
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Time Zone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active[*].name`
// +kubebuilder:printcolumn:name="Last Schedule",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Last Verdict",type=string,JSONPath=`.status.lastFinished.outcome`
// +kubebuilder:printcolumn:name="Missed",type=integer,priority=1,JSONPath=`.status.missedRuns`
// +kubebuilder:printcolumn:name="Next",type=string,priority=1,JSONPath=`.status.nextScheduleTime`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 41",message="metadata.name must have at most 41 characters"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.')",message="metadata.name must be lower-case letters, digits and -, without dots"
type LoadTestSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the operator creates, and when. You can change it at any time. A change of template has no effect on
	// LoadTests that exist.
	// +required
	Spec LoadTestScheduleSpec `json:"spec"`
	// status is the observed state. Only the operator writes it.
	// +optional
	Status LoadTestScheduleStatus `json:"status,omitzero"`
}

// LoadTestScheduleList is a list of schedules.
//
// +kubebuilder:object:root=true
type LoadTestScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadTestSchedule `json:"items"`
}

// LoadTestScheduleSpec is what the operator creates, and when.
type LoadTestScheduleSpec struct {
	// schedule is the cron expression of the scheduled times: minute, hour, day of the month, month and day of the week,
	// as in a CronJob. Lists, ranges, steps, names of months and days, and @hourly, @daily, @weekly, @monthly and @yearly
	// are allowed. A change applies from now on. Bounds: 1 to 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="must not contain TZ; use timeZone"
	// +kubebuilder:validation:XValidation:rule="self.contains('TZ') || self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[^ @]+( +[^ @]+){4})$')",message="must have five fields (minute, hour, day of the month, month, day of the week), or be @hourly, @daily, @weekly, @monthly or @yearly"
	Schedule string `json:"schedule"`
	// timeZone is the name of the time zone of schedule, such as Europe/Berlin. At the beginning of daylight-saving time,
	// a scheduled time in the hour that the clock skips does not occur at that date. At its end, a scheduled time in the
	// hour that the clock repeats occurs twice. Default: Etc/UTC.
	// +optional
	// +kubebuilder:default=Etc/UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'local'",message="must not be Local; allowed: the name of a time zone, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
	// concurrencyPolicy controls what the operator does at a scheduled time while a LoadTest of the schedule has not
	// finished. Allow creates another one. Forbid waits for its end, at most for startingDeadlineSeconds; then the run is
	// missed. Replace deletes it with its results, and creates the next one when it is deleted. Default: Forbid, because
	// two tests of the same target at the same time distort each other's results.
	// +optional
	// +kubebuilder:default=Forbid
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// startingDeadlineSeconds is how long after its scheduled time the operator may create a LoadTest, in seconds. After
	// that the run is missed. Runs start late if the operator did not run, if the API server refused the LoadTest, or with
	// concurrencyPolicy Forbid. Default: 300. Bounds: 10 to 604800 (a week).
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=604800
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// suspend prevents new LoadTests. LoadTests that exist continue. Scheduled times during the suspension are skipped:
	// they do not start later, and do not count as missed. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// historyLimits is how many finished LoadTests of each outcome the operator keeps. It deletes the oldest ones with
	// their reports.
	// +optional
	// +kubebuilder:default={}
	HistoryLimits HistoryLimits `json:"historyLimits,omitzero"`
	// template is the LoadTest to create.
	// +required
	Template LoadTestTemplate `json:"template"`
}

// ConcurrencyPolicy is what the operator does at a scheduled time while a LoadTest of the schedule has not finished.
//
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

// Values of ConcurrencyPolicy.
const (
	ConcurrencyAllow   ConcurrencyPolicy = "Allow"
	ConcurrencyForbid  ConcurrencyPolicy = "Forbid"
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// HistoryLimits is a number of finished LoadTests for each outcome of the verdict.
type HistoryLimits struct {
	// passed is the number of LoadTests that passed. Default: 3. Bounds: 0 to 1000.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Passed *int32 `json:"passed,omitempty"`
	// failed is the number of LoadTests that failed a threshold or the default limit on errors. Default: 3. Bounds: 0 to
	// 1000.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Failed *int32 `json:"failed,omitempty"`
	// inconclusive is the number of LoadTests whose result is inconclusive. Default: 1. Bounds: 0 to 1000.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Inconclusive *int32 `json:"inconclusive,omitempty"`
	// error is the number of LoadTests that could not run to their end. LoadTests with an invalid spec count. Default: 1.
	// Bounds: 0 to 1000.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Error *int32 `json:"error,omitempty"`
	// stopped is the number of LoadTests that a user stopped. Default: 1. Bounds: 0 to 1000.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Stopped *int32 `json:"stopped,omitempty"`
}

// LoadTestTemplate is a LoadTest to create.
type LoadTestTemplate struct {
	// metadata are the labels and annotations of the LoadTest. Default: none.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitzero"`
	// spec is the spec of the LoadTest. The operator compiles it when it changes. Condition Ready of the schedule
	// reports its errors, and what the operator's configuration denies.
	// +required
	Spec LoadTestSpec `json:"spec"`
}

// TemplateMetadata are labels and annotations.
type TemplateMetadata struct {
	// labels are the labels of the LoadTest. The operator adds h2surge.io/schedule, the name of the schedule. Bounds: 64
	// labels. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are the annotations of the LoadTest. The operator adds h2surge.io/scheduled-time, the scheduled time.
	// Bounds: 64 annotations. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Labels and annotations of LoadTests that a schedule created.
const (
	// LabelSchedule is the name of the LoadTestSchedule.
	LabelSchedule = "h2surge.io/schedule"
	// AnnotationScheduledTime is the scheduled time, in RFC 3339.
	AnnotationScheduledTime = "h2surge.io/scheduled-time"
)

// LoadTestScheduleStatus is the observed state of a schedule.
type LoadTestScheduleStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and Stalled. Ready is True if the operator creates LoadTests at the scheduled times. It is
	// False while suspend is true, if schedule, timeZone or template has an error, and while a run that is due cannot
	// start. Stalled is present and True if nothing changes until a user edits the spec.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// lastScheduleTime is the scheduled time of the last LoadTest that the operator created.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// nextScheduleTime is the next scheduled time. It is absent while suspend is true.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// active are the LoadTests of the schedule that have not finished, the oldest first. Bounds: the first 64 of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Active []ScheduledLoadTest `json:"active,omitempty"`
	// lastFinished is the LoadTest with the latest scheduled time that has finished. It stays when the LoadTest is
	// deleted.
	// +optional
	LastFinished *FinishedLoadTest `json:"lastFinished,omitempty"`
	// lastPassedTime is the scheduled time of the last LoadTest that passed.
	// +optional
	LastPassedTime *metav1.Time `json:"lastPassedTime,omitempty"`
	// missedRuns is the number of scheduled times for which the operator created no LoadTest. Scheduled times during a
	// suspension do not count. An event reports each missed run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MissedRuns int64 `json:"missedRuns,omitempty"`
	// lastMissedTime is the scheduled time of the last missed run.
	// +optional
	LastMissedTime *metav1.Time `json:"lastMissedTime,omitempty"`
	// handledTime is the time up to which the operator has handled all scheduled times: it created a LoadTest, counted the
	// run as missed, or skipped it because of suspend or a change of the schedule.
	// +optional
	HandledTime *metav1.Time `json:"handledTime,omitempty"`
	// handledSchedule is schedule and timeZone at handledTime. It is empty while suspend is true.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	HandledSchedule string `json:"handledSchedule,omitempty"`
}

// ScheduledLoadTest names a LoadTest of a schedule.
type ScheduledLoadTest struct {
	// name is the name of the LoadTest.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// scheduledTime is its scheduled time.
	// +optional
	ScheduledTime metav1.Time `json:"scheduledTime,omitzero"`
}

// FinishedLoadTest is the verdict of a LoadTest of a schedule.
type FinishedLoadTest struct {
	// name is the name of the LoadTest.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// scheduledTime is its scheduled time.
	// +optional
	ScheduledTime metav1.Time `json:"scheduledTime,omitzero"`
	// outcome is Passed, Failed, Inconclusive, Error or Stopped. It is Error if the spec is invalid.
	// +required
	// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive;Error;Stopped
	Outcome string `json:"outcome"`
	// reason is the cause of the outcome in one CamelCase word.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message is an explanation for people. Bounds: the first 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// ConditionReady is True if a LoadTestSchedule creates LoadTests at the scheduled times.
const ConditionReady = "Ready"

// Reasons of ConditionReady of a LoadTestSchedule. ReasonSuspended and ReasonNameConflict are reasons of it, too.
const (
	// ReasonScheduled means that the operator creates a LoadTest at the next scheduled time.
	ReasonScheduled = "Scheduled"
	// ReasonInvalidSchedule means that schedule or timeZone has an error.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonInvalidTemplate means that the template has errors, or that the operator's configuration denies it.
	ReasonInvalidTemplate = "InvalidTemplate"
	// ReasonWaiting means that a run is due and waits for the end or the deletion of an earlier LoadTest.
	ReasonWaiting = "Waiting"
	// ReasonCreationFailed means that a run is due and the API server refuses its LoadTest.
	ReasonCreationFailed = "CreationFailed"
)
