package record

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// Version is the version of the schema of Record that this operator writes.
const Version = 1

// Record is all that the operator decided about a run.
type Record struct {
	Version int   `json:"version"`
	State   State `json:"state"`
	// Created is when the operator saw the first valid spec, by its own clock.
	Created metav1.MicroTime `json:"created"`
	Plan    Plan             `json:"plan,omitzero"`
	// Attempt numbers the Jobs of the run from 1. Zero: no Job was created.
	Attempt int `json:"attempt,omitempty"`
	// Secret is the UID of the Secret with the certificate of the runners; empty: it was not created, or its UID is not
	// known.
	Secret types.UID `json:"secret,omitempty"`
	// Losses is the number of Jobs for the same plan before this one whose runners were lost before the start.
	Losses int `json:"losses,omitempty"`
	// Admitted is when Queued was last true. activeDeadlineSeconds counts from then; nil: from Created.
	Admitted *metav1.MicroTime `json:"admitted,omitempty"`
	// Queued: the test, which has not started, waits for its lock, or a queue suspends its Job.
	Queued bool `json:"queued,omitempty"`
	// Start is the decision to start; nil: the test has not started.
	Start *Start `json:"start,omitempty"`
	// Live are the values that the spec changed last, of those that can change while the test runs. Before the start
	// they are those of the plan.
	Live Live `json:"live,omitzero"`
	// Pods are the pods of the shards at the start and at the change that gave the shard its share. A decision replaces
	// the map.
	Pods map[int]Pod `json:"pods,omitempty"`
	// Changes are the changes of the load, oldest first. After the start there is at least one.
	Changes []Change `json:"changes,omitempty"`
	// Search are the probes of a search; empty: none has begun.
	Search Search `json:"search,omitzero"`
	// Edits are the changes of the spec while the test ran, oldest first.
	Edits []Edit `json:"edits,omitempty"`
	// Shards are the runners that ended before the test, oldest first.
	Shards []Shard `json:"shards,omitempty"`
	// Thresholds are the thresholds on windows that failed while the test ran, and the one that ended the test.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Report is the SHA-256 of the report in hexadecimal, stored before the ConfigMap: another report of that name is not
	// the operator's; empty: there is none yet.
	Report string `json:"report,omitempty"`
	// Ending is the end that the report has, stored with its digest: a successor can know less. Nil after the end.
	Ending *End `json:"ending,omitempty"`
	// Stop is the decision to end the run early; nil: there is none.
	Stop *Stop `json:"stop,omitempty"`
	// End says how the run ended; nil: it has not.
	End *End `json:"end,omitempty"`
}

// Plan is what the runners execute.
type Plan struct {
	// Name is that of the ConfigMap.
	Name string `json:"name,omitempty"`
	// Hash is what status shows: Digest without the address policy.
	Hash string `json:"hash,omitempty"`
	// Digest is the SHA-256 of the canonical bytes in hexadecimal. A ConfigMap with another plan is not the operator's.
	Digest string `json:"digest,omitempty"`
	// Template is the hash of the pod template.
	Template string `json:"template,omitempty"`
	// Generation is the generation of the spec that was compiled.
	Generation int64 `json:"generation,omitempty"`
}

// Start is the decision to start.
type Start struct {
	Time metav1.MicroTime `json:"time"`
	// Job is the UID of the Job whose pods run the test.
	Job types.UID `json:"job"`
	// With are the shards that start; empty: all.
	With []int `json:"with,omitempty"`
	// Live are the values of the plan, which later changes replace.
	Live Live `json:"live"`
	// Unplanned is run.Unplanned of the spec; empty: an earlier version made the decision.
	Unplanned string `json:"unplanned,omitempty"`
}

// Live is what can change while the test runs.
type Live struct {
	// Generation is the generation of the spec that has these values.
	Generation int64  `json:"generation,omitempty"`
	Rates      []Rate `json:"rates,omitempty"`
	Shards     int    `json:"shards,omitempty"`
	Suspended  bool   `json:"suspended,omitempty"`
}

// Pod is the pod of a runner. The operator needs it after a user deleted the pod.
type Pod struct {
	UID  types.UID `json:"uid"`
	Name string    `json:"name"`
	Node string    `json:"node,omitempty"`
	// Address is that of the control endpoint.
	Address string `json:"address,omitempty"`
}

// Rate is the part of a stage's rate that can change.
type Rate struct {
	Count  int64         `json:"count"`
	Period time.Duration `json:"periodNanoseconds"`
	// Ramp is true if the rate changes linearly from RampFrom to Count in each Period.
	Ramp     bool  `json:"ramp,omitempty"`
	RampFrom int64 `json:"rampFrom,omitempty"`
}

// RatesOf returns the parts of rates that can change.
func RatesOf(rates []runnerv1alpha1.Rate) []Rate {
	out := make([]Rate, len(rates))
	for i := range rates {
		r := &rates[i]
		out[i] = Rate{Count: r.Count, Period: r.Period}
		if r.RampFrom != nil {
			out[i].Ramp, out[i].RampFrom = true, *r.RampFrom
		}
	}
	return out
}

// Apply returns the stages of a plan at these rates.
func Apply(rates []Rate, stages []runnerv1alpha1.Rate) []runnerv1alpha1.Rate {
	out := slices.Clone(stages)
	for i := range min(len(out), len(rates)) {
		r := &rates[i]
		out[i].Count, out[i].Period, out[i].RampFrom = r.Count, r.Period, nil
		if r.Ramp {
			out[i].RampFrom = &r.RampFrom
		}
	}
	return out
}

// Change is one change of the load; see runnerv1alpha1.Update.
type Change struct {
	Revision   int64 `json:"revision"`
	Generation int64 `json:"generation,omitempty"`
	// At is the time of the change in nanoseconds since the start; zero: the change was made before the start.
	At int64 `json:"at,omitempty"`
	// Members are the shards that have a share of the load.
	Members Set `json:"members"`
	// Rates are those of all stages; nil: those of the change before this one.
	Rates     []Rate `json:"rates,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	// DecidedAt is when the operator stored the change.
	DecidedAt metav1.MicroTime `json:"decidedAt"`
	// Applied is true when all runners have the change.
	Applied bool `json:"applied,omitempty"`
}

// Search has the probes of a search.
type Search struct {
	// Probes are those that ended, in their order.
	Probes []runnerv1alpha1.ProbeResult `json:"probes,omitempty"`
	// Begun is the revision of the change that began the current probe; zero: no probe runs.
	Begun int64 `json:"begun,omitempty"`
}

// Edit is a change of one field of the spec while the test ran.
type Edit struct {
	// Generation is the generation of the spec that has the new value.
	Generation int64            `json:"generation"`
	Time       metav1.MicroTime `json:"time"`
	// Field is the path of the field, as status shows it.
	Field string `json:"field"`
	// Stage is the index of the stage if a rate changed; nil: another field changed.
	Stage *int `json:"stage,omitempty"`
	// From and To are the values before and after; only the field that changed is set.
	From Value `json:"from"`
	To   Value `json:"to"`
	// AppliedAt is when all runners had the change; nil: they do not have it yet.
	AppliedAt *metav1.MicroTime `json:"appliedAt,omitempty"`
}

// Value is the value of a field that can change while the test runs.
type Value struct {
	Rate      *Rate `json:"rate,omitempty"`
	Shards    int   `json:"shards,omitempty"`
	Suspended bool  `json:"suspended,omitempty"`
}

// Shard is a runner that ended before the test: it was lost, or it left.
type Shard struct {
	Index int `json:"index"`
	// Pod is the UID of the runner's pod; empty: the shard was lost before it had one.
	Pod types.UID `json:"pod,omitempty"`
	// Name is the name of the pod.
	Name string `json:"name,omitempty"`
	Node string `json:"node,omitempty"`
	// State is that of its counts.
	State ShardState `json:"state"`
	// Member is true if the runner had a share of the load. Otherwise no counts are missing.
	Member bool      `json:"member,omitempty"`
	Time   time.Time `json:"time"`
	// Loss is nil if the runner left.
	Loss *Loss `json:"loss,omitempty"`
	// Counts says where the counts of the runner are.
	Counts Counts `json:"counts,omitzero"`
}

// ShardState says what is known of a runner that ended before the test.
type ShardState string

// States of a shard in the record.
const (
	// ShardDone: its counts are final. It left, or it was lost and reached again.
	ShardDone ShardState = "Done"
	// ShardLost: it was lost, and its counts may not be final.
	ShardLost ShardState = "Lost"
)

// Loss is why a runner ended early.
type Loss struct {
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
}

// Counts refers to a stored snapshot.
type Counts struct {
	// Name is the name of the object; empty: no snapshot is known.
	Name     string `json:"name,omitempty"`
	Sequence uint64 `json:"sequence,omitempty"`
	// Since is the time of a snapshot that was not the last one: later counts are missing.
	Since *metav1.MicroTime `json:"since,omitempty"`
	// Dropped names the details that were left out.
	Dropped []string `json:"dropped,omitempty"`
}

// Stop is the decision to end a run early.
type Stop struct {
	Reason string           `json:"reason"`
	Time   metav1.MicroTime `json:"time"`
}

// Threshold is a threshold that failed while the test ran. It has failed at the end, too.
type Threshold struct {
	Name string `json:"name"`
	// Observed is the observed value.
	Observed string `json:"observed"`
	// After is the time from the start, in nanoseconds.
	After time.Duration `json:"after"`
	// Unanswered, Above, Drops and Dropped are those of verdict.Observation.
	Unanswered bool    `json:"unanswered,omitempty"`
	Above      float64 `json:"above,omitempty"`
	Drops      int64   `json:"drops,omitempty"`
	Dropped    int64   `json:"dropped,omitempty"`
	// Abort is true if the threshold ended the test.
	Abort bool `json:"abort,omitempty"`
}

// ThresholdOf returns a threshold that failed with an observation.
func ThresholdOf(name string, o verdict.Observation) Threshold {
	return Threshold{Name: name, Observed: o.Observed, After: o.After, Unanswered: o.Unanswered, Above: o.Above,
		Drops: o.Drops, Dropped: o.Dropped}
}

// Observation returns that of ThresholdOf.
func (t *Threshold) Observation() verdict.Observation {
	return verdict.Observation{Observed: t.Observed, After: t.After, Unanswered: t.Unanswered, Above: t.Above,
		Drops: t.Drops, Dropped: t.Dropped}
}

// End is how a run ended, as status shows it from then on.
type End struct {
	// Reason is one of the reasons of condition Finished, Message a sentence.
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Time    metav1.Time `json:"time"`
	// Started is false for a run that ended before its start.
	Started           bool         `json:"started"`
	StartTime         *metav1.Time `json:"startTime,omitempty"`
	StartedGeneration int64        `json:"startedGeneration,omitempty"`
	// Unplanned is that of the spec that started, else of the one that the run ended with; empty: it is not known.
	Unplanned string `json:"unplanned,omitempty"`
	// UnstartedGeneration is the generation of the spec with PlanHash if the run ended before its start.
	UnstartedGeneration int64                    `json:"unstartedGeneration,omitempty"`
	PlanHash            string                   `json:"planHash,omitempty"`
	Warnings            string                   `json:"warnings,omitempty"`
	Shards              v1alpha1.ShardCounts     `json:"shards"`
	Skew                *int64                   `json:"startSkewMicroseconds,omitempty"`
	Runners             []v1alpha1.RunnerStatus  `json:"runners,omitempty"`
	Protocols           []v1alpha1.FoundProtocol `json:"protocols,omitempty"`
	Results             *v1alpha1.Results        `json:"results,omitempty"`
	Summary             *v1alpha1.Summary        `json:"summary,omitempty"`
	Verdict             *v1alpha1.Verdict        `json:"verdict,omitempty"`
	Report              *v1alpha1.ReportStatus   `json:"report,omitempty"`
	Search              *v1alpha1.SearchStatus   `json:"search,omitempty"`
}

// Failed are the thresholds that failed while the test ran.
func (r *Record) Failed() map[string]verdict.Observation {
	out := map[string]verdict.Observation{}
	for i := range r.Thresholds {
		t := &r.Thresholds[i]
		out[t.Name] = t.Observation()
	}
	return out
}

// On changes the state as the table says. It returns an error if the event has no transition.
func (r *Record) On(event Event) error {
	next, ok := r.State.Next(event)
	if !ok {
		return fmt.Errorf("record: event %s in state %s", event, r.State)
	}
	r.State = next
	return nil
}

// Find returns the record of a runner that ended; nil: there is none.
func (r *Record) Find(shard int, pod types.UID) *Shard {
	for i := range r.Shards {
		if s := &r.Shards[i]; s.Index == shard && s.Pod == pod {
			return s
		}
	}
	return nil
}

// Last returns the newest record of a shard; nil: none of its runners ended.
func (r *Record) Last(shard int) *Shard {
	for _, s := range slices.Backward(r.Shards) {
		if s.Index == shard {
			return &s
		}
	}
	return nil
}
