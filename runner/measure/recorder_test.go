package measure

import (
	"reflect"
	"testing"
)

// filled is a recorder in which every counter and histogram holds something.
func filled(n int64) *Recorder {
	r := New(2, 1, 2)
	fill(reflect.ValueOf(r).Elem(), n)
	for i := range r.Steps {
		r.Steps[i].ResponseTime.Record(n)
	}
	for _, h := range r.histograms() {
		h.Record(n)
	}
	return r
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
	total := New(2, 1, 2)
	for _, n := range []int64{3, 4} {
		r := filled(n)
		r.FoldInto(total)
		visit(reflect.ValueOf(*r), "", func(path string, n int64) {
			if n != 0 {
				t.Errorf("%s is %d after folding", path, n)
			}
		})
		for i, h := range r.histograms() {
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
	for i, h := range total.histograms() {
		if h.Count() != 2 || h.Sum() != 7 {
			t.Errorf("histogram %d has %d values of sum %d", i, h.Count(), h.Sum())
		}
	}
	for i := range total.Steps {
		if h := &total.Steps[i].ResponseTime; h.Count() != 2 || h.Sum() != 7 {
			t.Errorf("step %d has %d response times of sum %d", i, h.Count(), h.Sum())
		}
	}
}

func TestFoldingAllocatesNothingTwice(t *testing.T) {
	total, r := filled(5), filled(5)
	r.FoldInto(total)
	if n := testing.AllocsPerRun(10, func() {
		r.Lag.Record(5)
		r.Steps[0].ResponseTime.Record(5)
		r.FoldInto(total)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
