package v1alpha1

// Window is a short part of a run, over all shards. Windows follow one another without a gap; their
// counts add up to those of the run, warm-up included. From and To are the ends of what was looked
// at: what a shard counts to a window lies between two looks at it, which need not be at the same
// instant for all shards.
type Window struct {
	// From and To are milliseconds since the start.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Stage is the rate stage that lasted longest within the window; empty: none, as in the drain.
	Stage  string `json:"stage,omitempty"`
	WarmUp bool   `json:"warmUp,omitempty"`
	// Suspended: nothing came due in the whole of it, because the test was paused.
	Suspended bool `json:"suspended,omitempty"`
	// Revision is that of the share in force at the end: where it differs from the window before,
	// the load was changed while it ran.
	Revision int64 `json:"revision,omitempty"`
	// Asked is in requests a second, averaged over the window; zero also when a stage in it was a
	// closed loop.
	Asked float64 `json:"asked"`
	// Achieved is in requests a second: for each shard what it sent over the time between its looks.
	Achieved float64 `json:"achieved"`

	// Sent and Succeeded include warm-up, the kinds of failure do not.
	Sent           int64 `json:"sent"`
	Succeeded      int64 `json:"succeeded"`
	FailedChecks   int64 `json:"failedChecks,omitempty"`
	TimedOut       int64 `json:"timedOut,omitempty"`
	Reset          int64 `json:"reset,omitempty"`
	ConnectionLost int64 `json:"connectionLost,omitempty"`
	Dropped        int64 `json:"dropped,omitempty"`
	// InFlight is at the end of the window, warm-up included.
	InFlight int64 `json:"inFlight"`
	// Connects counts connections opened in the window, again or for the first time.
	Connects int64 `json:"connects,omitempty"`

	// ResponseTime is of the measured requests that were done in the window.
	ResponseTime WindowTimes `json:"responseTime"`
	// LagP99 is in microseconds.
	LagP99 int64 `json:"lagP99"`
	// Shards that were heard of in the window.
	Shards int `json:"shards"`
}

// WindowTimes sums up a distribution, in integer microseconds. All are those of buckets, at most
// 0.1 % too great; all are zero when Count is.
type WindowTimes struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	Max   int64 `json:"max"`
}

// MaxWindows bounds Report.Windows: a longer run has longer windows, of 2, 5, 10, 20, 30 or 60 seconds
// and then multiples of that.
const MaxWindows = 600
