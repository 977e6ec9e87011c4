package v1alpha1

// Window is a short part of a run, over all shards. Windows follow one another without a gap; their counts add up to
// those of the run, warm-up included. The operator reads the counts of the shards one after another, so the window of
// one shard can be some milliseconds earlier or later than that of another.
type Window struct {
	// From and To are milliseconds since the start.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Stage is the rate stage that lasted longest within the window; empty: none, as in the drain.
	Stage  string `json:"stage,omitempty"`
	WarmUp bool   `json:"warmUp,omitempty"`
	// LoadEnd is when the last stage ended, in milliseconds since the start, if this is before the end of the window;
	// zero: the load lasted longer, or ended in an earlier window. Asked and Achieved include the time after it.
	LoadEnd int64 `json:"loadEnd,omitempty"`
	// Suspended is true if the test was suspended during the whole window.
	Suspended bool `json:"suspended,omitempty"`
	// Revision is the revision of the load at the end of the window. If it differs from the previous window, the load
	// was changed.
	Revision int64 `json:"revision,omitempty"`
	// Asked is in requests a second, averaged over the window; zero also when a stage in it was a
	// closed loop.
	Asked float64 `json:"asked"`
	// Achieved is in requests per second: for each shard, what it sent divided by the time between its two readings.
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

	// ResponseTime is of the requests of measured stages that had their outcome in the window.
	ResponseTime WindowTimes `json:"responseTime"`
	// Histogram is the distribution of ResponseTime. Its count in each bucket is exact; Min, Max and Sum are those of
	// buckets. Absent: no time was measured, or the report was too large.
	Histogram Histogram `json:"histogram,omitzero"`
	// LagP99 is in microseconds.
	LagP99 int64 `json:"lagP99"`
	// Shards is the number of shards that sent counts in the window.
	Shards int `json:"shards"`
}

// WindowTimes summarizes a distribution, in integer microseconds. The values are those of buckets, at most 0.1 % too
// high. All are zero if Count is zero. Count includes Unanswered, as in Times.
type WindowTimes struct {
	Count      int64 `json:"count"`
	Unanswered int64 `json:"unanswered,omitempty"`
	P50        int64 `json:"p50"`
	P90        int64 `json:"p90"`
	P99        int64 `json:"p99"`
	Max        int64 `json:"max"`
}

// MaxWindows bounds Report.Windows: a longer run has longer windows, of 2, 5, 10, 20, 30 or 60 seconds
// and then multiples of that.
const MaxWindows = 600
