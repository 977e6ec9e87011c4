package process

import (
	"io"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestParseConfig(t *testing.T) {
	env := map[string]string{"JOB_COMPLETION_INDEX": "3", "POD_NAME": "p", "NODE_NAME": "n", "PLAN_DIGEST": "abc"}
	for _, tc := range []struct {
		name string
		args []string
		env  map[string]string
		want Config
		bad  bool
	}{
		{
			name: "defaults", args: []string{"--plan", "f", "--tls-dir", "d"},
			want: Config{Plan: "f", TLSDir: "d", ControlAddress: ":8443", MetricsAddress: ":9090", AckGrace: rv.DefaultResultRetention, Index: -1},
		},
		{
			name: "all", env: env,
			args: []string{"--plan=f", "--tls-dir=d", "--control-address=:1", "--metrics-address=:2", "--ack-grace=3s"},
			want: Config{Plan: "f", PlanDigest: "abc", TLSDir: "d", ControlAddress: ":1", MetricsAddress: ":2", AckGrace: 3 * time.Second, Index: 3, Pod: "p", Node: "n"},
		},
		{
			name: "listeners", args: []string{"--plan", "f", "--tls-dir", "d"},
			env: map[string]string{"JOB_COMPLETION_INDEX": "3", "POD_IP": "192.0.2.1", "JOB_NAME": "pcf-1", "LISTENER_DOMAIN": "listeners-pcf.core.svc"},
			want: Config{
				Plan: "f", TLSDir: "d", ControlAddress: ":8443", MetricsAddress: ":9090", AckGrace: rv.DefaultResultRetention, Index: 3,
				IP: "192.0.2.1", Name: "pcf-1-3.listeners-pcf.core.svc",
			},
		},
		{name: "no plan", args: []string{"--tls-dir", "d"}, bad: true},
		{name: "no certificates", args: []string{"--plan", "f"}, bad: true},
		{name: "an argument", args: []string{"--plan", "f", "--tls-dir", "d", "x"}, bad: true},
		{name: "unknown flag", args: []string{"--plan", "f", "--tls-dir", "d", "--x"}, bad: true},
		{name: "negative grace", args: []string{"--plan", "f", "--tls-dir", "d", "--ack-grace", "-1s"}, bad: true},
		{name: "no index", args: []string{"--plan", "f", "--tls-dir", "d"}, env: map[string]string{"JOB_COMPLETION_INDEX": "-1"}, bad: true},
	} {
		got, err := ParseConfig(tc.args, func(name string) string { return tc.env[name] }, io.Discard)
		if (err != nil) != tc.bad {
			t.Errorf("%s: error %v, want one: %v", tc.name, err, tc.bad)
		}
		if !tc.bad && got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
