package process

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

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

// ParseConfig reads the command line and the environment. Help and errors of flags go to output.
func ParseConfig(args []string, env func(string) string, output io.Writer) (Config, error) {
	c := Config{Index: -1, PlanDigest: env("PLAN_DIGEST"), Pod: env("POD_NAME"), Node: env("NODE_NAME"),
		IP: env("POD_IP")}
	flags := flag.NewFlagSet("runner", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&c.Plan, "plan", "", "`file` with the plan, JSON or gzip of it")
	flags.StringVar(&c.TLSDir, "tls-dir", "", "`directory` that contains "+rv.TLSCAFile+", "+rv.TLSCertFile+" and "+
		rv.TLSKeyFile)
	flags.StringVar(&c.ControlAddress, "control-address", fmt.Sprintf(":%d", rv.ControlPort),
		"address for the operator, `host:port`")
	flags.StringVar(&c.MetricsAddress, "metrics-address", fmt.Sprintf(":%d", rv.MetricsPort),
		"address of /metrics, /healthz and /readyz, `host:port`")
	flags.DurationVar(&c.AckGrace, "ack-grace", rv.DefaultResultRetention,
		"how long to keep the final snapshot after the run until the operator acknowledges it")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.Plan == "" || c.TLSDir == "" || flags.NArg() != 0 || c.AckGrace < 0 {
		return c, fmt.Errorf("--plan and --tls-dir are required; --ack-grace must not be negative; other arguments are not allowed")
	}
	if s := env("JOB_COMPLETION_INDEX"); s != "" {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return c, fmt.Errorf("JOB_COMPLETION_INDEX is %q, which is not an index", s)
		}
		c.Index = int(n)
		if domain := env("LISTENER_DOMAIN"); domain != "" {
			c.Name = fmt.Sprintf("%s-%d.%s", env("JOB_NAME"), n, domain)
		}
	}
	return c, nil
}
