package compile

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// schema is the part of an OpenAPI schema that strictness comes from.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Required   []string          `json:"required"`
	MinLength  int               `json:"minLength"`
	Pattern    string            `json:"pattern"`
	Enum       []any             `json:"enum"`
	Minimum    float64           `json:"minimum"`
	Rules      []struct {
		Rule string `json:"rule"`
	} `json:"x-kubernetes-validations"`
}

// excludesZero says that the zero value of Go is refused when the field is there. Go writes a duration
// of zero as 0s, so only rules can exclude it.
func (s *schema) excludesZero(goType reflect.Type) bool {
	if goType == reflect.TypeFor[metav1.Duration]() {
		return !strings.HasPrefix(s.Rules[0].Rule, "duration(self) >= duration('0s')")
	}
	return s.Type == "string" && (s.MinLength > 0 || s.Pattern != "" || len(s.Enum) > 0) || s.Type == "integer" && s.Minimum > 0
}

// TestStrictnessIsThatOfTheCRD: every optional field whose zero value the API server refuses, and that
// Go cannot tell from an omitted one, is in strictLoadTest; so is every required field that may be zero.
func TestStrictnessIsThatOfTheCRD(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "h2surge.io_loadtests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(b, &crd); err != nil {
		t.Fatal(err)
	}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	seen := map[string]bool{}
	var walk func(s *schema, goType reflect.Type, path string)
	walk = func(s *schema, goType reflect.Type, path string) {
		for goType.Kind() == reflect.Pointer {
			goType = goType.Elem()
		}
		if s.Items != nil && goType.Kind() == reflect.Slice {
			walk(s.Items, goType.Elem(), path+"[]")
			return
		}
		if s.Type != "object" || goType.Kind() != reflect.Struct || len(s.Properties) == 0 {
			return
		}
		fields := map[string]reflect.Type{}
		jsonFields(goType, fields)
		for name, child := range s.Properties {
			at := strings.TrimPrefix(path+"."+name, ".")
			kind := fields[name].Kind()
			required := slices.Contains(s.Required, name)
			hidden := kind == reflect.String || kind == reflect.Int32 || kind == reflect.Int64
			if !required && hidden && child.excludesZero(fields[name]) {
				seen[at] = true
				if !strictLoadTest.notZero[at] {
					t.Errorf("notZero lacks %q", at)
				}
			}
			hidden = hidden || kind == reflect.Bool || fields[name] == reflect.TypeFor[metav1.Duration]()
			if required && hidden && !child.excludesZero(fields[name]) && !slices.Contains(strictLoadTest.required[path], name) {
				t.Errorf("required[%q] lacks %q", path, name)
			}
			walk(&child, fields[name], at)
		}
	}
	spec := root.Properties["spec"]
	walk(&spec, reflect.TypeFor[v1alpha1.LoadTestSpec](), "spec")
	for at := range strictLoadTest.notZero {
		if !seen[at] {
			t.Errorf("notZero has %q, which the CRD does not", at)
		}
	}
}
