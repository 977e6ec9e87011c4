package compile

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Defaults that the API states in words only, because the API server cannot apply them: those of
// durations, which a client would otherwise read back in another spelling, and those that depend
// on another field.
const (
	defaultTimeout        = 5 * time.Second
	defaultConnectTimeout = 5 * time.Second
	defaultRampPeriod     = time.Second
	defaultRefreshBefore  = 30 * time.Second
	defaultBackoff        = 100 * time.Millisecond
	defaultMaxBackoff     = 10 * time.Second
	defaultLeaseDuration  = time.Minute
	maxThink              = time.Hour
)

const defaultAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// withDefaults returns a copy with every default applied: those of the API server again, for the
// command line has none, and those that depend on another field.
func withDefaults(in *v1alpha1.LoadTestSpec) *v1alpha1.LoadTestSpec {
	spec := in.DeepCopy()
	orElse(&spec.Runner.Shards, 1)
	orElse(&spec.Runner.OnShardLost, v1alpha1.ShardLostFail)
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
		variableDefaults(&spec.Variables[i])
	}
	for i := range spec.Templates {
		requestDefaults(&spec.Templates[i].Request)
	}
	eachInline(spec, func(_ *field.Path, in *v1alpha1.Request) { requestDefaults(in) })
	for i := range spec.Chains {
		chain := &spec.Chains[i]
		orElse(&chain.Weight, 1)
		orElse(&chain.Phase, v1alpha1.PhaseLoad)
		for j := range chain.Steps {
			stepDefaults(&chain.Steps[j])
		}
	}
	orElse(&spec.WeightBy, v1alpha1.WeightByChains)
	return spec
}

// requestDefaults leaves the fields that a request may inherit: they get their defaults when all is inherited.
func requestDefaults(r *v1alpha1.Request) {
	if from := r.BodyFrom; from != nil {
		orElse(&from.Encoding, v1alpha1.EncodingText)
	}
}

func stepDefaults(s *v1alpha1.Step) {
	orElse(&s.Name, s.Template)
	retryDefaults(s.Retry)
	for i := range s.Parallel {
		p := &s.Parallel[i]
		orElse(&p.Name, p.Template)
		retryDefaults(p.Retry)
	}
	if s.ThinkTime != nil && s.ThinkTime.Exponential != nil {
		e := s.ThinkTime.Exponential
		durationOrElse(&e.Max, min(10*min(e.Mean.Duration, maxThink), maxThink))
	}
}

func retryDefaults(r *v1alpha1.Retry) {
	if r != nil {
		durationOrElse(&r.MaxBackoff, defaultMaxBackoff)
		durationOrElse(&r.Backoff, min(defaultBackoff, r.MaxBackoff.Duration))
	}
}

func variableDefaults(v *v1alpha1.Variable) {
	orElse(&v.Scope, v1alpha1.ScopeInstance)
	orElse(&v.Order, v1alpha1.OrderSequential)
	orElse(&v.AtEnd, v1alpha1.EndWrap)
	if v.Range != nil {
		orElse(&v.Range.Step, 1)
		orElse(&v.Range.Format, "Decimal")
	}
	if v.CSV != nil {
		orElse(&v.CSV.Delimiter, ",")
	}
	if r := v.Random; r != nil {
		if r.String != nil {
			orElse(&r.String.Alphabet, defaultAlphabet)
		}
		for i := range r.Choice {
			orElse(&r.Choice[i].Weight, 1)
		}
	}
	if v.Counter != nil {
		orElse(&v.Counter.Step, 1)
	}
	if v.Timestamp != nil {
		orElse(&v.Timestamp.Format, "RFC3339")
	}
}

func connectionDefaults(t *v1alpha1.Target) {
	if t.Auth != nil && t.Auth.OAuth2 != nil {
		orElse(&t.Auth.OAuth2.SecretIn, "Header")
		durationOrElse(&t.Auth.OAuth2.RefreshBefore, defaultRefreshBefore)
	}
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
