package compile

import (
	"encoding/json"
	"reflect"
	"time"

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
	defaultObserve           = 5 * time.Second
)

// convert encodes a value and decodes it. runtime.DefaultUnstructuredConverter is slower: its first call takes 20 ms.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, to)
}

// complete returns a copy of a spec with all defaults: those of the CRD, for the command line, and those that the API
// server cannot apply. A request in a step or template gets its defaults when its inherited fields are known.
func complete(spec *v1alpha1.LoadTestSpec) *v1alpha1.LoadTestSpec {
	out := spec.DeepCopy()
	specSchema.setDefaults(reflect.ValueOf(out))
	withDurations(out)
	return out
}

// setDefaults sets the fields that JSON would not have and that have a default in the CRD.
func (s *schema) setDefaults(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			s.setDefaults(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			s.Items.setDefaults(value.Index(i))
		}
	case reflect.Struct:
		for f := range jsonFields(value) {
			of := s.Properties.field(f.name)
			if of == nil {
				continue
			}
			if f.absent && of.Default != nil {
				setDefault(f.value, of.Default)
			}
			of.setDefaults(f.value)
		}
	}
}

// setDefault sets a field to a default: a scalar, or an object or a list that is empty.
func setDefault(field reflect.Value, value any) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch v := value.(type) {
	case string:
		field.SetString(v)
	case bool:
		field.SetBool(v)
	case float64:
		field.SetInt(int64(v))
	}
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
	for i := range spec.Observe {
		if q := spec.Observe[i].Prometheus; q != nil {
			durationOrElse(&q.Interval, defaultObserve)
		}
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
