package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fill gives each pointer a value and each slice an element, and each field with the name of a file a name, which is its path. It calls found with
// these paths.
func fill(v reflect.Value, path string, found func(string)) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, found)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, found)
	case reflect.Struct:
		if strings.Contains("."+path, "."+v.Type().Name()+".") {
			return // a type in itself
		}
		for i := range v.NumField() {
			fill(v.Field(i), path+v.Type().Name()+"."+v.Type().Field(i).Name+".", found)
		}
	case reflect.String:
		if strings.HasSuffix(path, "File.") {
			v.SetString(path)
			found(path)
		}
	}
}

// TestFiles: Files has each file that a plan can name, so that the command line finds what it takes from a ConfigMap.
func TestFiles(t *testing.T) {
	var p Plan
	want := map[string]bool{}
	fill(reflect.ValueOf(&p).Elem(), "", func(path string) { want[path] = true })
	for _, name := range p.Files() {
		delete(want, *name)
	}
	var missing []string
	for path := range want {
		missing = append(missing, path)
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("Files does not have\n%s", strings.Join(missing, "\n"))
	}
}
