// Package builder makes LoadTests for tests. A test says what is special about its LoadTest and
// leaves the rest to this package.
package builder

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// LoadTest is a LoadTest in the making. Its methods change it and return it.
type LoadTest struct{ lt v1alpha1.LoadTest }

// Minimal is the smallest LoadTest that is valid: GET / on target.example, 100 requests a second
// for a second, on one shard.
func Minimal(name string) *LoadTest {
	return &LoadTest{v1alpha1.LoadTest{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTest"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1alpha1.LoadTestSpec{
			Targets:   []v1alpha1.Target{{Name: "target", URL: "http://target.example"}},
			Templates: []v1alpha1.Template{{Name: "get"}},
			Chains:    []v1alpha1.Chain{{Name: "gets", Target: "target", Steps: []v1alpha1.Step{{Template: "get"}}}},
			Rates:     []v1alpha1.Rate{PerSecond("steady", 100, time.Second)},
		},
	}}
}

// Sessions is a LoadTest whose chain creates, updates and deletes a resource, reading the
// variable ue and following the location of the first response.
func Sessions(name, url string) *LoadTest {
	b := Minimal(name).TargetURL(url).Variable(Range("ue", 0, 1_000_000))
	b.lt.Spec.Templates = []v1alpha1.Template{
		{
			Name: "create",
			Request: v1alpha1.Request{
				Method: "POST", Path: "/sessions", Body: `{"ue":"${ue}"}`,
				Expect:  &v1alpha1.Expect{Status: []intstr.IntOrString{intstr.FromInt32(201)}},
				Capture: []v1alpha1.Capture{{Name: "session", ValueSource: v1alpha1.ValueSource{Header: "location"}}},
			},
		},
		{Name: "update", Request: v1alpha1.Request{Method: "PATCH", Path: "${session}", Body: `{"ue":"${ue}"}`}},
		{Name: "delete", Request: v1alpha1.Request{Method: "DELETE", Path: "${session}",
			Expect: &v1alpha1.Expect{Status: []intstr.IntOrString{intstr.FromInt32(204)}}}},
	}
	b.lt.Spec.Chains = []v1alpha1.Chain{{
		Name: "session", Target: "target",
		Steps: []v1alpha1.Step{{Template: "create"}, {Template: "update"}, {Template: "delete"}},
	}}
	return b
}

// Build returns the LoadTest; later changes of the builder do not reach it.
func (b *LoadTest) Build() *v1alpha1.LoadTest { return b.lt.DeepCopy() }

// Namespace puts it elsewhere than into default.
func (b *LoadTest) Namespace(namespace string) *LoadTest {
	b.lt.Namespace = namespace
	return b
}

// TargetURL points the first target elsewhere.
func (b *LoadTest) TargetURL(url string) *LoadTest {
	b.lt.Spec.Targets[0].URL = url
	return b
}

// Connections to the first target, over all shards.
func (b *LoadTest) Connections(n int32) *LoadTest {
	b.lt.Spec.Targets[0].Connections = &n
	return b
}

// Shards sets the number of runners.
func (b *LoadTest) Shards(n int32) *LoadTest {
	b.lt.Spec.Runner.Shards = n
	return b
}

// Variable adds one.
func (b *LoadTest) Variable(v v1alpha1.Variable) *LoadTest {
	b.lt.Spec.Variables = append(b.lt.Spec.Variables, v)
	return b
}

// Template adds one that a chain of the same name sends alone.
func (b *LoadTest) Template(t v1alpha1.Template) *LoadTest {
	b.lt.Spec.Templates = append(b.lt.Spec.Templates, t)
	b.lt.Spec.Chains = append(b.lt.Spec.Chains, v1alpha1.Chain{
		Name: t.Name, Target: b.lt.Spec.Targets[0].Name, Steps: []v1alpha1.Step{{Template: t.Name}},
	})
	return b
}

// Rates replaces the stages.
func (b *LoadTest) Rates(rates ...v1alpha1.Rate) *LoadTest {
	b.lt.Spec.Rates = rates
	return b
}

// Threshold adds one.
func (b *LoadTest) Threshold(t v1alpha1.Threshold) *LoadTest {
	b.lt.Spec.Thresholds = append(b.lt.Spec.Thresholds, t)
	return b
}

// Suspended keeps it from starting.
func (b *LoadTest) Suspended() *LoadTest {
	b.lt.Spec.Suspend = true
	return b
}

// TTL and Deadline are in seconds.
func (b *LoadTest) TTL(seconds int32) *LoadTest {
	b.lt.Spec.TTLSecondsAfterFinished = &seconds
	return b
}

// Deadline is activeDeadlineSeconds.
func (b *LoadTest) Deadline(seconds int64) *LoadTest {
	b.lt.Spec.ActiveDeadlineSeconds = &seconds
	return b
}

// Edit changes what the other methods do not reach.
func (b *LoadTest) Edit(edit func(*v1alpha1.LoadTestSpec)) *LoadTest {
	edit(&b.lt.Spec)
	return b
}

// PerSecond is a measured stage.
func PerSecond(name string, rate int64, d time.Duration) v1alpha1.Rate {
	return v1alpha1.Rate{Name: name, RequestsPerSecond: ptr.To(rate), Duration: &v1alpha1.Duration{Duration: d}}
}

// ClosedLoop is a closed loop of a number of requests.
func ClosedLoop(name string, requests int64) v1alpha1.Rate {
	return v1alpha1.Rate{Name: name, ClosedLoop: &v1alpha1.ClosedLoop{}, Requests: ptr.To(requests)}
}

// Range is a variable of the integers from start up to, without, end.
func Range(name string, start, end int64) v1alpha1.Variable {
	return v1alpha1.Variable{Name: name, Range: &v1alpha1.IntegerRange{Start: start, End: end}}
}

// List is a variable of strings.
func List(name string, values ...string) v1alpha1.Variable {
	return v1alpha1.Variable{Name: name, List: &v1alpha1.ValueList{Values: values}}
}

// P99 is a threshold on the 99th percentile of the response time: "20ms".
func P99(limit string) v1alpha1.Threshold {
	return v1alpha1.Threshold{Name: "p99", Metric: v1alpha1.MetricResponseTime, Percentile: "p99",
		Max: ptr.To(intstr.FromString(limit))}
}

// ErrorRate is a threshold on the error rate: "1%".
func ErrorRate(limit string) v1alpha1.Threshold {
	return v1alpha1.Threshold{Name: "errors", Metric: v1alpha1.MetricErrorRate, Max: ptr.To(intstr.FromString(limit))}
}

// When is a condition: value, which may have holes, equals want.
func When(value, want string) v1alpha1.Condition {
	return v1alpha1.Condition{Value: value, Comparison: v1alpha1.Comparison{Equals: &want}}
}

// Once is a chain of one phase, setup or teardown, that sends a template of its name.
func (b *LoadTest) Once(phase v1alpha1.ChainPhase, t v1alpha1.Template) *LoadTest {
	b.Template(t)
	b.lt.Spec.Chains[len(b.lt.Spec.Chains)-1].Phase = phase
	return b
}

// WeightBy says what weights divide up.
func (b *LoadTest) WeightBy(by v1alpha1.WeightBy) *LoadTest {
	b.lt.Spec.WeightBy = by
	return b
}

// Capture adds one to the template with a name.
func (b *LoadTest) Capture(template, name string, from v1alpha1.ValueSource) *LoadTest {
	return b.template(template, func(t *v1alpha1.Template) {
		t.Capture = append(t.Capture, v1alpha1.Capture{Name: name, ValueSource: from})
	})
}

func (b *LoadTest) template(name string, edit func(*v1alpha1.Template)) *LoadTest {
	for i := range b.lt.Spec.Templates {
		if t := &b.lt.Spec.Templates[i]; t.Name == name {
			edit(t)
		}
	}
	return b
}

// Header and JSON say where a value is taken from in a response.
func Header(name string) v1alpha1.ValueSource { return v1alpha1.ValueSource{Header: name} }

// JSON is a JSON pointer into the body.
func JSON(pointer string) v1alpha1.ValueSource { return v1alpha1.ValueSource{JSONPointer: &pointer} }

// Equals is a check that a value of the response is want, which may have holes.
func Equals(name string, of v1alpha1.ValueSource, want string) v1alpha1.Check {
	return v1alpha1.Check{Name: name, ValueSource: of, Comparison: v1alpha1.Comparison{Equals: &want}}
}
