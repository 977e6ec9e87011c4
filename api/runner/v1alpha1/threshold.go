package v1alpha1

import (
	"slices"
	"strings"
	"time"
)

// Threshold is a limit on a result. Exactly one of the maximum and minimum is set.
type Threshold struct {
	Name   string `json:"name"`
	Metric Metric `json:"metric"`
	// Percentile of a time, such as "p99.9".
	Percentile string `json:"percentile,omitempty"`
	// Max and Min are durations ("20ms") for times, percentages ("0.1%") for the error rate and decimals for
	// rates. For counts they are a decimal, a percentage, or a decimal and "/s".
	Max string `json:"max,omitempty"`
	Min string `json:"min,omitempty"`
	// Observation is the name of the entry of Plan.Observe whose samples MetricObserved is the mean of.
	Observation string `json:"observation,omitempty"`
	// PerUnit limits the succeeded requests per second for each unit of the observation.
	PerUnit bool `json:"perUnit,omitempty"`
	// Of is the part of the requests that the threshold is on.
	Of Selector `json:"of,omitzero"`
	// Window is the length of the windows that the threshold is on. Zero: the run, or a stage.
	Window time.Duration `json:"window,omitempty"`
	// AbortOnFail ends the test if the threshold fails later than AbortAfter from the start of its figures.
	AbortOnFail bool          `json:"abortOnFail,omitempty"`
	AbortAfter  time.Duration `json:"abortAfter,omitempty"`
}

// Selector is a part of the requests of measured stages. The zero value is all of them. A request is in the part if it
// has all properties that are set.
type Selector struct {
	Target string `json:"target,omitempty"`
	// Chain and Step are names. With Step, Chain is set, too.
	Chain string `json:"chain,omitempty"`
	Step  string `json:"step,omitempty"`
	// StatusClass is the first digit of the status code of the response, 1 to 5.
	StatusClass int `json:"statusClass,omitempty"`
	// Stage is the name of the stage of the slot.
	Stage string `json:"stage,omitempty"`
	// Listener is the name of the listener of the notifications. A selector with a listener is of notifications, and has
	// no other property.
	Listener string `json:"listener,omitempty"`
}

// Metric is what a threshold looks at.
type Metric string

const (
	MetricResponseTime    Metric = "ResponseTime"
	MetricServiceTime     Metric = "ServiceTime"
	MetricTimeToFirstByte Metric = "TimeToFirstByte"
	MetricLag             Metric = "Lag"

	// Targets have these times, in the order of TargetTimes.Distributions.
	MetricNameResolution Metric = "NameResolution"
	MetricTCPConnect     Metric = "TCPConnect"
	MetricTLSHandshake   Metric = "TLSHandshake"
	MetricSettings       Metric = "Settings"
	MetricConnect        Metric = "Connect"
	MetricReconnecting   Metric = "Reconnecting"
	MetricBlocked        Metric = "Blocked"
	MetricBody           Metric = "Body"

	MetricObserved Metric = "Observed"

	MetricErrorRate Metric = "ErrorRate"
	MetricRate      Metric = "Rate"

	MetricResponses       Metric = "Responses"
	MetricSucceeded       Metric = "Succeeded"
	MetricFailed          Metric = "Failed"
	MetricFailedChecks    Metric = "FailedChecks"
	MetricTimedOut        Metric = "TimedOut"
	MetricReset           Metric = "Reset"
	MetricConnectionLost  Metric = "ConnectionLost"
	MetricDropped         Metric = "Dropped"
	MetricRetried         Metric = "Retried"
	MetricReconnects      Metric = "Reconnects"
	MetricChainsCompleted Metric = "ChainsCompleted"
	MetricChainsAborted   Metric = "ChainsAborted"

	// Listeners have these figures; see SelectionCounters.
	MetricNotificationTime        Metric = "NotificationTime"
	MetricNotificationErrorRate   Metric = "NotificationErrorRate"
	MetricNotificationsInTime     Metric = "NotificationsInTime"
	MetricNotificationsMissing    Metric = "NotificationsMissing"
	MetricNotificationsLate       Metric = "NotificationsLate"
	MetricNotificationsDuplicate  Metric = "NotificationsDuplicate"
	MetricNotificationsUnexpected Metric = "NotificationsUnexpected"
)

// ofTargets are the times that targets have.
var ofTargets = [TargetDistributions]Metric{
	MetricNameResolution, MetricTCPConnect, MetricTLSHandshake, MetricSettings, MetricConnect, MetricReconnecting,
	MetricBlocked, MetricBody,
}

// OfTargets returns the index of the time in TargetTimes.Distributions, or -1 if it is not a time of targets.
func (m Metric) OfTargets() int { return slices.Index(ofTargets[:], m) }

// IsTime returns whether the metric is a time.
func (m Metric) IsTime() bool {
	switch m {
	case MetricResponseTime, MetricServiceTime, MetricTimeToFirstByte, MetricLag, MetricNotificationTime:
		return true
	}
	return m.OfTargets() >= 0
}

// IsCount returns whether the metric is a count.
func (m Metric) IsCount() bool {
	switch m {
	case MetricResponses, MetricSucceeded, MetricFailed, MetricFailedChecks, MetricTimedOut, MetricReset,
		MetricConnectionLost,
		MetricDropped, MetricRetried, MetricReconnects, MetricChainsCompleted, MetricChainsAborted,
		MetricNotificationsInTime, MetricNotificationsMissing, MetricNotificationsLate, MetricNotificationsDuplicate,
		MetricNotificationsUnexpected:
		return true
	}
	return false
}

// IsErrorRate returns whether the metric is a share of failures, whose limits are percentages.
func (m Metric) IsErrorRate() bool { return m == MetricErrorRate || m == MetricNotificationErrorRate }

// OfListeners returns whether the metric is a figure of listeners.
func (m Metric) OfListeners() bool {
	switch m {
	case MetricNotificationTime, MetricNotificationErrorRate, MetricNotificationsInTime, MetricNotificationsMissing,
		MetricNotificationsLate, MetricNotificationsDuplicate, MetricNotificationsUnexpected:
		return true
	}
	return false
}

// OfRequests returns whether the metric counts requests or awaited notifications by their outcome, or has their times.
// The others count what happened, such as reconnects, and have the times of connections.
func (m Metric) OfRequests() bool {
	switch m {
	case MetricErrorRate, MetricResponseTime, MetricServiceTime, MetricTimeToFirstByte, MetricBody, MetricResponses,
		MetricSucceeded, MetricFailed, MetricFailedChecks, MetricTimedOut, MetricReset, MetricConnectionLost,
		MetricNotificationErrorRate, MetricNotificationTime, MetricNotificationsInTime, MetricNotificationsMissing:
		return true
	}
	return false
}

// Selection is a figure that runners report because a threshold is on it: the counts of a part of the requests, and the
// distribution of a time. A selection with MetricNotificationTime has the counts of notifications, of one listener or
// of all.
type Selection struct {
	Selector
	// Time is the metric of the distribution; "": counts only.
	Time Metric
}

// Has returns whether the requests of a step of a target and a chain are in the part.
func (s *Selector) Has(target, chain, step string) bool {
	return (s.Target == "" || s.Target == target) && (s.Chain == "" || s.Chain == chain) &&
		(s.Step == "" || s.Step == step)
}

// Derived returns whether the distribution follows from those of steps and targets. Workers record the others.
func (s *Selection) Derived() bool {
	return s.Time != "" && s.Stage == "" && s.StatusClass == 0
}

// AtEndOnly returns whether the threshold cannot be judged before the end: a minimum of a count of the run or of a
// stage.
func (t *Threshold) AtEndOnly() bool {
	plain := !strings.HasSuffix(t.Min, "%") && !strings.HasSuffix(t.Min, "/s")
	return t.Metric.IsCount() && t.Min != "" && plain && t.Window == 0
}

// selection returns the selection of a threshold. It returns false if each snapshot has the figure.
func (t *Threshold) selection() (Selection, bool) {
	s := Selection{Selector: t.Of}
	switch {
	case t.Metric == MetricObserved && !t.PerUnit:
		return Selection{}, false
	case t.Metric.OfListeners():
		s.Time = MetricNotificationTime
	case t.Metric.IsTime():
		s.Time = t.Metric
	}
	return s, s != Selection{} && s != Selection{Time: MetricResponseTime}
}

// Selections returns the different selections of the plan's thresholds, and for each threshold the index of its
// selection, or -1 if each snapshot has the figure. Snapshot.Selections has the same order.
func (p *Plan) Selections() (selections []Selection, of []int) {
	for i := range p.Thresholds {
		s, needed := p.Thresholds[i].selection()
		k := -1
		if needed {
			if k = slices.Index(selections, s); k < 0 {
				k, selections = len(selections), append(selections, s)
			}
		}
		of = append(of, k)
	}
	return selections, of
}

// SelectionCounters are the figures of a Selection on a runner.
type SelectionCounters struct {
	SelectionCounts
	// Time is the distribution of Selection.Time.
	Time Histogram `json:"time,omitzero"`
}

// SelectionCounts are counts that, like those of a step, satisfy the equations of Outcomes. Of a selection of
// notifications, Sent are the steps that awaited one, Done those that received it in time, Succeeded those of Done that
// passed their checks, and TimedOut those that missed it. All of these are of instances that began in measured stages.
type SelectionCounts struct {
	Sent           int64 `json:"sent"`
	Done           int64 `json:"done"`
	Succeeded      int64 `json:"succeeded"`
	TimedOut       int64 `json:"timedOut"`
	Reset          int64 `json:"reset"`
	ConnectionLost int64 `json:"connectionLost"`
	// Dropped counts slots that were never sent, in a selection without target, chain and step.
	Dropped int64 `json:"dropped"`
	// SentInDrain are those of Sent that left after the last stage; the rate leaves them out.
	SentInDrain int64 `json:"sentInDrain,omitempty"`
	// InClass counts the responses with the status class of the selection. Zero: the selection has none.
	InClass int64 `json:"inClass,omitempty"`
	// Received, Late, Duplicate and Unexpected are those of ListenerCounts, in a selection of notifications.
	Received   int64 `json:"received,omitempty"`
	Late       int64 `json:"late,omitempty"`
	Duplicate  int64 `json:"duplicate,omitempty"`
	Unexpected int64 `json:"unexpected,omitempty"`
}

// Add adds the counts of another runner if sign is 1. If sign is -1, it subtracts those of an earlier snapshot.
func (c *SelectionCounts) Add(from *SelectionCounts, sign int64) {
	c.Sent += sign * from.Sent
	c.Done += sign * from.Done
	c.Succeeded += sign * from.Succeeded
	c.TimedOut += sign * from.TimedOut
	c.Reset += sign * from.Reset
	c.ConnectionLost += sign * from.ConnectionLost
	c.Dropped += sign * from.Dropped
	c.SentInDrain += sign * from.SentInDrain
	c.InClass += sign * from.InClass
	c.Received += sign * from.Received
	c.Late += sign * from.Late
	c.Duplicate += sign * from.Duplicate
	c.Unexpected += sign * from.Unexpected
}

// Baseline is a threshold on the difference to an earlier run. Exactly one of ConfigMap, File and Schedule is set.
type Baseline struct {
	Name string `json:"name"`
	// Metric, Percentile and Of are those of Threshold.
	Metric     Metric   `json:"metric"`
	Percentile string   `json:"percentile,omitempty"`
	Of         Selector `json:"of,omitzero"`
	// MaxIncrease is a percentage: how much worse the figure may be.
	MaxIncrease string `json:"maxIncrease"`
	BaselineSource
}

// BaselineSource is where the report of an earlier run is.
type BaselineSource struct {
	// ConfigMap is the name of a ConfigMap, and File a path.
	ConfigMap string `json:"configMap,omitempty"`
	File      string `json:"file,omitempty"`
	// Schedule is the name of a LoadTestSchedule, whose last run that passed has the report.
	Schedule string `json:"schedule,omitempty"`
}

// String returns "ConfigMap nightly-report", "file baseline.json" or "schedule nightly".
func (s BaselineSource) String() string {
	switch {
	case s.File != "":
		return "file " + s.File
	case s.Schedule != "":
		return "schedule " + s.Schedule
	}
	return "ConfigMap " + s.ConfigMap
}

// Sources returns the different sources of the plan's baselines, in their order.
func (p *Plan) Sources() (out []BaselineSource) {
	for i := range p.Baselines {
		if s := p.Baselines[i].BaselineSource; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
