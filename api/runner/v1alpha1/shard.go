package v1alpha1

// ShardResult is what one runner of a shard did, and how it was doing.
type ShardResult struct {
	Shard int `json:"shard"`
	// Pod and Node say where it ran, when it knew.
	Pod  string `json:"pod,omitempty"`
	Node string `json:"node,omitempty"`
	// Lost: it ended before its time; its figures are those of its last snapshot, if there was one.
	Lost bool `json:"lost,omitempty"`
	// Joined and Left say when it began and when its load ended, in milliseconds since the start; zero:
	// with the test.
	Joined  int64 `json:"joined,omitempty"`
	Left    int64 `json:"left,omitempty"`
	Workers int   `json:"workers"`
	CPUs    []int `json:"cpus,omitempty"`
	// Exclusive: it had its CPUs for itself.
	Exclusive bool `json:"exclusive,omitempty"`
	// IdleStrategy is IdleSpin or IdleSleep. Empty: not known.
	IdleStrategy IdleStrategy `json:"idleStrategy,omitempty"`

	Sent      int64 `json:"sent"`
	Succeeded int64 `json:"succeeded"`
	Dropped   int64 `json:"dropped,omitempty"`
	// ResponseTime is of this shard alone.
	ResponseTime          Times   `json:"responseTime"`
	LagP99Microseconds    int64   `json:"lagP99Microseconds"`
	ThrottledMicroseconds int64   `json:"throttledMicroseconds"`
	GCPauseMicroseconds   int64   `json:"gcPauseMicroseconds"`
	CPUSeconds            float64 `json:"cpuSeconds"`
	// StartSkewMicroseconds is how long after the first shard it began; zero for one that joined later.
	StartSkewMicroseconds int64 `json:"startSkewMicroseconds"`
	Connects              int64 `json:"connects"`
	Reconnects            int64 `json:"reconnects"`
	// Resumed counts connections whose handshake resumed a session of TLS, and EarlyData those of them whose early data
	// the server accepted.
	Resumed   int64 `json:"resumed,omitempty"`
	EarlyData int64 `json:"earlyData,omitempty"`
}
