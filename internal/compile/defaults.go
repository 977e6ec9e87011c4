package compile

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Defaults that the API states in words only, because the API server cannot apply them: those of
// durations, which a client would otherwise read back in another spelling, and those that depend
// on another field.
const (
	defaultTimeout           = 5 * time.Second
	defaultConnectTimeout    = 5 * time.Second
	defaultRampPeriod        = time.Second
	defaultAssertionLifetime = 5 * time.Minute
	defaultRefreshBefore     = 30 * time.Second
	defaultBackoff           = 100 * time.Millisecond
	defaultMaxBackoff        = 10 * time.Second
	defaultLeaseDuration     = time.Minute
	defaultProbe             = 10 * time.Second
	defaultSettle            = 2 * time.Second
	defaultRetention         = time.Second
)

// generic returns a spec as a client sends it.
func generic(spec *v1alpha1.LoadTestSpec) (map[string]any, error) {
	var out map[string]any
	err := convert(spec, &out)
	return out, err
}

// convert encodes a value and decodes it. runtime.DefaultUnstructuredConverter is slower: its first call takes 20 ms.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, to)
}

// complete returns a copy of a spec with all defaults: those of the CRD, for the command line, and those that the API server cannot apply.
// document is the spec in generic form. A request in a step or template gets its defaults when its inherited fields are known.
func complete(spec *v1alpha1.LoadTestSpec, document map[string]any) (*v1alpha1.LoadTestSpec, error) {
	out := &v1alpha1.LoadTestSpec{}
	if !specSchema.setDefaults(document) {
		spec.DeepCopyInto(out)
	} else if err := convert(document, out); err != nil {
		return nil, err
	}
	withDurations(out)
	return out, nil
}

// setDefaults sets the fields that are not set and have a default in the CRD, and reports whether one of them is another value than that
// of a field of a Go struct that is not set.
func (s *schema) setDefaults(value any) (changed bool) {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range s.Properties {
			name := field.name
			if v[name] == nil && field.Default != nil {
				v[name] = runtime.DeepCopyJSONValue(field.Default)
				list, isList := v[name].([]any)
				changed = changed || v[name] != false && v[name] != 0.0 && v[name] != "" && (!isList || len(list) > 0)
			}
			changed = field.setDefaults(v[name]) || changed
		}
	case []any:
		for _, item := range v {
			changed = s.Items.setDefaults(item) || changed
		}
	}
	return changed
}

// withDurations sets the defaults that the API server cannot apply.
func withDurations(spec *v1alpha1.LoadTestSpec) {
	durationOrElse(&spec.Runner.LeaseDuration, defaultLeaseDuration)
	durationOrElse(&spec.Runner.SleepInterval, runnerv1alpha1.DefaultSleepInterval)
	if spec.Search != nil {
		durationOrElse(&spec.Search.ProbeDuration, defaultProbe)
		durationOrElse(&spec.Search.SettleDuration, defaultSettle)
	}
	for i := range spec.Targets {
		t := &spec.Targets[i]
		if t.Connections == nil {
			t.Connections = &spec.Runner.Shards
		}
		durationOrElse(&t.ConnectTimeout, defaultConnectTimeout)
		if t.Auth != nil && t.Auth.OAuth2 != nil {
			durationOrElse(&t.Auth.OAuth2.RefreshBefore, defaultRefreshBefore)
		}
		if t.ClientAssertion != nil {
			durationOrElse(&t.ClientAssertion.Lifetime, defaultAssertionLifetime)
		}
		if t.Connecting != nil && t.Connecting.Ramp != nil {
			durationOrElse(&t.Connecting.Ramp.Period, defaultRampPeriod)
		}
	}
	for i := range spec.Listeners {
		durationOrElse(&spec.Listeners[i].Retention, defaultRetention)
	}
	for i := range spec.Chains {
		for j := range spec.Chains[i].Steps {
			stepDefaults(&spec.Chains[i].Steps[j])
		}
	}
}

func stepDefaults(s *v1alpha1.Step) {
	orElse(&s.Name, s.Template)
	retryDefaults(s.Retry)
	if s.Await != nil {
		durationOrElse(&s.Await.Timeout, defaultTimeout)
	}
	for i := range s.Parallel {
		p := &s.Parallel[i]
		orElse(&p.Name, p.Template)
		retryDefaults(p.Retry)
	}
	if s.ThinkTime != nil && s.ThinkTime.Exponential != nil {
		e := s.ThinkTime.Exponential
		longest := schemaOf("chains.steps.thinkTime.exponential.max").duration().high
		durationOrElse(&e.Max, min(10*min(e.Mean.Duration, longest), longest))
	}
}

func retryDefaults(r *v1alpha1.Retry) {
	if r != nil {
		durationOrElse(&r.MaxBackoff, defaultMaxBackoff)
		durationOrElse(&r.Backoff, min(defaultBackoff, r.MaxBackoff.Duration))
	}
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func durationOrElse(field **v1alpha1.Duration, value time.Duration) {
	if *field == nil {
		*field = &v1alpha1.Duration{Duration: value}
	}
}
