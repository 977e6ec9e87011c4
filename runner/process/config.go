package process

import "time"

// Config is what the command line and the environment of a runner say, which are the same for all pods of a run. The
// share of a shard and later changes come over the control port.
type Config struct {
	// Plan is a file.
	Plan string
	// PlanDigest is the SHA-256 of the plan in hexadecimal; a file with another plan is refused. It is a variable of the
	// environment, which a runner of an earlier version ignores. Empty: any plan is executed.
	PlanDigest string
	// TLSDir contains the files of control.LoadTLS.
	TLSDir         string
	ControlAddress string
	MetricsAddress string
	// AckGrace is how long the runner keeps its final snapshot for the operator.
	AckGrace time.Duration

	// Index of the pod in its Job, -1 when it is in none.
	Index     int
	Pod, Node string
	// IP is the address of the pod, for listeners; empty: the plan has none.
	IP string
	// Name is the DNS name of the pod, for listeners with TLS; empty: they have the address.
	Name string
}
