package measure

import (
	"reflect"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// filled is a recorder in which every counter and histogram holds something.
func filled(n int64) *Recorder {
	r := New(Shape{2, 1, 2, 2, 2, 1})
	fill(reflect.ValueOf(r).Elem(), n)
	for _, h := range histograms(reflect.ValueOf(r).Elem()) {
		h.Record(n)
	}
	return r
}

// histograms returns all that can be reached.
func histograms(v reflect.Value) (out []*histogram.H) {
	if h, ok := v.Addr().Interface().(*histogram.H); ok {
		return []*histogram.H{h}
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, histograms(v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out = append(out, histograms(v.Field(i))...)
			}
		}
	}
	return out
}

// TestDistributionsHaveTheFieldsOfSnapshots: the lists of a step and a target have each distribution once, in the order of
// those of a snapshot.
func TestDistributionsHaveTheFieldsOfSnapshots(t *testing.T) {
	for name, pair := range map[string][2]any{"steps": {&Step{}, &rv.StepCounters{}}, "targets": {&Target{}, &rv.TargetTimes{}}} {
		own, wire := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
		from, to := own.MethodByName("Histograms").Call(nil)[0], wire.MethodByName("Distributions").Call(nil)[0]
		if n := len(histograms(own.Elem())); n != from.Len() {
			t.Errorf("%s: %d of %d distributions are listed", name, from.Len(), n)
		}
		for i := range from.Len() {
			if a, b := fieldOf(own.Elem(), from.Index(i)), fieldOf(wire.Elem(), to.Index(i)); a != b || a == "" {
				t.Errorf("%s: distribution %d is %s, and %s in a snapshot", name, i, a, b)
			}
		}
	}
}

// fieldOf returns the name of the field that a pointer points to.
func fieldOf(v, pointer reflect.Value) string {
	for i := range v.NumField() {
		if v.Field(i).CanAddr() && v.Field(i).Addr().Pointer() == pointer.Pointer() && v.Field(i).Type() == pointer.Type().Elem() {
			return v.Type().Field(i).Name
		}
	}
	return ""
}

// fill sets every int64 that can be reached, so that a counter added later is tested too.
func fill(v reflect.Value, n int64) {
	switch v.Kind() {
	case reflect.Int64:
		v.SetInt(n)
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	}
}

// visit calls f with every int64 that can be reached.
func visit(v reflect.Value, path string, f func(path string, n int64)) {
	switch v.Kind() {
	case reflect.Int64:
		f(path, v.Int())
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), path+"[]", f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				visit(v.Field(i), path+"."+v.Type().Field(i).Name, f)
			}
		}
	}
}

func TestFoldAddsEverythingAndLeavesNothing(t *testing.T) {
	total := New(Shape{2, 1, 2, 2, 2, 1})
	for _, n := range []int64{3, 4} {
		r := filled(n)
		r.FoldInto(total)
		visit(reflect.ValueOf(*r), "", func(path string, n int64) {
			if n != 0 {
				t.Errorf("%s is %d after folding", path, n)
			}
		})
		for i, h := range histograms(reflect.ValueOf(r).Elem()) {
			if h.Count() != 0 {
				t.Errorf("histogram %d is not empty after folding", i)
			}
		}
	}
	visit(reflect.ValueOf(*total), "", func(path string, n int64) {
		if n != 7 {
			t.Errorf("%s is %d, want 7", path, n)
		}
	})
	for i, h := range histograms(reflect.ValueOf(total).Elem()) {
		if h.Count() != 2 || h.Sum() != 7 {
			t.Errorf("histogram %d has %d values of sum %d", i, h.Count(), h.Sum())
		}
	}
}

func TestFoldingAllocatesNothingTwice(t *testing.T) {
	total, r := filled(5), filled(5)
	r.FoldInto(total)
	if n := testing.AllocsPerRun(10, func() {
		r.Lag.Record(5)
		r.Targets[0].Body.Record(5)
		r.Steps[0].ResponseTime.Record(5)
		r.FoldInto(total)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
