package compile

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Defaults that the API states in words only, because the API server cannot apply them: those of
// durations, which a client would otherwise read back in another spelling, and those that depend
// on another field.
const (
	defaultTimeout        = 5 * time.Second
	defaultConnectTimeout = 5 * time.Second
	defaultRampPeriod     = time.Second
)

// withDefaults returns a copy with every default applied: those of the API server again, for the
// command line has none, and those that depend on another field.
func withDefaults(in *v1alpha1.LoadTestSpec) *v1alpha1.LoadTestSpec {
	spec := in.DeepCopy()
	orElse(&spec.Runner.Shards, 1)
	for i := range spec.Targets {
		t := &spec.Targets[i]
		orElse(&t.Protocol, v1alpha1.ProtocolAuto)
		orElse(&t.MaxConcurrentStreams, 100)
		if t.Connections == nil {
			t.Connections = &spec.Runner.Shards
		}
		durationOrElse(&t.ConnectTimeout, defaultConnectTimeout)
		connectionDefaults(t)
	}
	for i := range spec.Variables {
		if r := spec.Variables[i].Range; r != nil {
			orElse(&r.Step, 1)
		}
	}
	for i := range spec.Templates {
		t := &spec.Templates[i]
		orElse(&t.Method, http.MethodGet)
		orElse(&t.Path, "/")
		durationOrElse(&t.Timeout, defaultTimeout)
	}
	for i := range spec.Chains {
		chain := &spec.Chains[i]
		orElse(&chain.Weight, 1)
		for j := range chain.Steps {
			orElse(&chain.Steps[j].Name, chain.Steps[j].Template)
		}
	}
	return spec
}

func connectionDefaults(t *v1alpha1.Target) {
	if t.TLS != nil {
		orElse(&t.TLS.MinVersion, v1alpha1.TLS12)
		orElse(&t.TLS.MaxVersion, v1alpha1.TLS13)
	}
	if t.HTTP1 != nil {
		orElse(&t.HTTP1.Pipeline, 1)
		pointerOrElse(&t.HTTP1.KeepAlive, true)
	}
	if c := t.Connecting; c != nil {
		pointerOrElse(&c.Failover, true)
		if c.Ramp != nil {
			durationOrElse(&c.Ramp.Period, defaultRampPeriod)
		}
	}
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func durationOrElse(field **metav1.Duration, value time.Duration) {
	if *field == nil {
		*field = &metav1.Duration{Duration: value}
	}
}

func pointerOrElse[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
