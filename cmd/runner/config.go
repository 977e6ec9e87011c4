package main

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// config is the command line and the environment of a runner, which are the same for all pods of a run. The share of a
// shard and later changes come over the control port.
type config struct {
	plan string
	// planDigest is the SHA-256 of the plan in hexadecimal; a file with another plan is refused. It is a variable of the
	// environment, which a runner of an earlier version ignores. Empty: any plan is executed.
	planDigest     string
	tlsDir         string
	controlAddress string
	metricsAddress string
	ackGrace       time.Duration

	// index of the pod in its Job, -1 when it is in none.
	index     int
	pod, node string
	// ip is the address of the pod, for listeners; empty: the plan has none.
	ip string
	// name is the DNS name of the pod, for listeners with TLS; empty: they have the address.
	name string
}

func parseConfig(args []string, env func(string) string, output io.Writer) (config, error) {
	c := config{index: -1, planDigest: env("PLAN_DIGEST"), pod: env("POD_NAME"), node: env("NODE_NAME"), ip: env("POD_IP")}
	flags := flag.NewFlagSet("runner", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&c.plan, "plan", "", "`file` with the plan, JSON or gzip of it")
	flags.StringVar(&c.tlsDir, "tls-dir", "", "`directory` that contains "+rv.TLSCAFile+", "+rv.TLSCertFile+" and "+
		rv.TLSKeyFile)
	flags.StringVar(&c.controlAddress, "control-address", fmt.Sprintf(":%d", rv.ControlPort),
		"address for the operator, `host:port`")
	flags.StringVar(&c.metricsAddress, "metrics-address", fmt.Sprintf(":%d", rv.MetricsPort),
		"address of /metrics, /healthz and /readyz, `host:port`")
	flags.DurationVar(&c.ackGrace, "ack-grace", rv.DefaultResultRetention,
		"how long to keep the final snapshot after the run until the operator acknowledges it")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.plan == "" || c.tlsDir == "" || flags.NArg() != 0 || c.ackGrace < 0 {
		return c, fmt.Errorf("--plan and --tls-dir are required; --ack-grace must not be negative; other arguments are not allowed")
	}
	if s := env("JOB_COMPLETION_INDEX"); s != "" {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return c, fmt.Errorf("JOB_COMPLETION_INDEX is %q, which is not an index", s)
		}
		c.index = int(n)
		if domain := env("LISTENER_DOMAIN"); domain != "" {
			c.name = fmt.Sprintf("%s-%d.%s", env("JOB_NAME"), n, domain)
		}
	}
	return c, nil
}
