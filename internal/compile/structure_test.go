package compile

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// smallSchema has each kind of field.
const smallSchema = `{"type":"object","required":["name"],"properties":{
	"name":   {"type":"string","minLength":1},
	"number": {"type":"integer","format":"int32","default":3},
	"flag":   {"type":"boolean","default":true},
	"object": {"type":"object","default":{},"properties":{"text":{"type":"string","default":"x"},"other":{"type":"string"}}},
	"absent": {"type":"object","properties":{"text":{"type":"string","default":"x"}}},
	"items":  {"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"text":{"type":"string","default":"x"}}},
	           "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},
	"set":    {"type":"array","items":{"x-kubernetes-int-or-string":true,"pattern":"^[1-5]([0-9][0-9]|xx)$"},"x-kubernetes-list-type":"set"},
	"list":   {"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"atomic"},
	"map":    {"type":"object","additionalProperties":{"type":"string"}},
	"open":   {"type":"object","x-kubernetes-preserve-unknown-fields":true},
	"time":   {"type":"string","format":"date-time"},
	"wait":   {"type":"string","pattern":"^[0-9]+s$","x-kubernetes-validations":[{"rule":"duration(self) > duration('0s') && duration(self) <= duration('1m')","message":"wait a minute"}]},
	"either": {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"x-kubernetes-validations":[{"rule":"has(self.a) != has(self.b)","message":"a or b"}]},
	"most":   {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"x-kubernetes-validations":[{"rule":"[has(self.a), has(self.b)].filter(x, x).size() <= 1","message":"not both"}]},
	"cel":    {"type":"object","properties":{"a":{"type":"string"}},"x-kubernetes-validations":[{"rule":"has(self.a) || self.b","message":"another rule"}]}
}}`

// small has the fields of smallSchema.
type small struct {
	Name   *string        `json:"name,omitempty"`
	Number *int32         `json:"number,omitempty"`
	Flag   *bool          `json:"flag,omitempty"`
	Object smallObject    `json:"object,omitzero"`
	Absent *smallObject   `json:"absent,omitempty"`
	Items  []smallItem    `json:"items,omitempty"`
	Set    []any          `json:"set,omitempty"`
	List   []any          `json:"list,omitzero"`
	Map    map[string]any `json:"map,omitzero"`
	Open   map[string]any `json:"open,omitempty"`
	Time   string         `json:"time,omitempty"`
	Wait   string         `json:"wait,omitempty"`
	Either map[string]any `json:"either,omitzero"`
	Most   map[string]any `json:"most,omitzero"`
	CEL    map[string]any `json:"cel,omitzero"`
}

type smallObject struct {
	Text  *string `json:"text,omitempty"`
	Other string  `json:"other,omitempty"`
}

type smallItem struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// defaults are the fields of smallSchema that have one.
const defaults = `"flag":true,"number":3,"object":{"text":"x"}`

func TestStructure(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		// rest is the document with its defaults, and without what does not fit.
		rest string
	}{
		{"defaults", `{"name":"a"}`, nil, `{` + defaults + `,"name":"a"}`},
		{"values instead of defaults", `{"name":"a","number":0,"flag":false,"object":{"text":"","other":"y"}}`, nil, `{"name":"a","number":0,"flag":false,"object":{"text":"","other":"y"}}`},
		{"defaults of items", `{"name":"a","items":[{"name":"b"},{"name":"c","text":"y"}]}`, nil, `{` + defaults + `,"name":"a","items":[{"name":"b","text":"x"},{"name":"c","text":"y"}]}`},
		{"defaults in an empty object", `{"name":"a","object":{},"absent":{}}`, nil, `{` + defaults + `,"name":"a","absent":{"text":"x"}}`},
		{"null", `{"name":"a","number":null,"object":null,"absent":null,"items":null,"map":{"a":null,"b":"c"}}`, nil, `{` + defaults + `,"name":"a","map":{"b":"c"}}`},
		{"null where a value is needed", `{"name":null}`, []string{"a.name: is needed"}, `{` + defaults + `}`},
		{"null in a list", `{"name":"a","list":["b",null]}`, []string{"a.list[1]: must not be null"}, `{` + defaults + `,"name":"a","list":["b",null]}`},
		{"null of an unknown field", `{"name":"a","x":null}`, []string{"a.x: unknown field"}, `{` + defaults + `,"name":"a"}`},
		{"nothing", `{}`, []string{"a.name: is needed"}, `{` + defaults + `}`},
		{"empty", `{"name":"","list":[],"map":{}}`, []string{"a.name: must not be empty"}, `{` + defaults + `,"name":"","list":[],"map":{}}`},
		{"an unknown field", `{"name":"a","objekt":{}}`, []string{"a.objekt: unknown field; did you mean object?"}, `{` + defaults + `,"name":"a"}`},
		{"an unknown field of an item", `{"name":"a","items":[{"name":"b","nam":"c"}]}`, []string{"a.items[0].nam: unknown field; did you mean name?"},
			`{` + defaults + `,"name":"a","items":[{"name":"b","text":"x"}]}`},
		{"unknown fields of an open object", `{"name":"a","open":{"x":null,"y":[1]}}`, nil, `{` + defaults + `,"name":"a","open":{"x":null,"y":[1]}}`},
		{"a misspelt field that is needed", `{"Name":"a"}`, []string{"a.Name: unknown field; did you mean name?", "a.name: is needed"}, `{` + defaults + `}`},
		{"other types", `{"name":1,"number":"3","flag":"yes","object":[],"list":{},"map":"a"}`, []string{
			"a.flag: must be true or false", `a.list: must be a list; begin each item with "- "`, "a.map: must be an object", `a.name: must be a string; put the number in quotes: "1"`,
			"a.number: must be an integer; remove the quotes", "a.object: must be an object",
		}, `{` + defaults + `}`},
		{"another type in a map", `{"name":"a","map":{"b.c":true}}`, []string{"a.map[b.c]: must be a string; YAML reads the value as true: put it in quotes"}, `{` + defaults + `,"name":"a","map":{}}`},
		{"an integer with a point", `{"name":"a","number":4.0}`, nil, `{"flag":true,"object":{"text":"x"},"name":"a","number":4}`},
		{"a fraction", `{"name":"a","number":4.5}`, []string{"a.number: must be an integer"}, `{` + defaults + `,"name":"a"}`},
		{"large numbers", `{"name":"a","number":2147483648}`, []string{"a.number: is a number beyond 32 bits"}, `{` + defaults + `,"name":"a"}`},
		{"larger numbers", `{"name":"a","number":1e20}`, []string{"a.number: is a number beyond 64 bits"}, `{` + defaults + `,"name":"a"}`},
		{"a key twice", `{"name":"a","items":[{"name":"b"},{"name":"c"},{"name":"b"}]}`, []string{`a.items[2].name: "b" is the name of entry 0 too`},
			`{` + defaults + `,"name":"a","items":[{"name":"b","text":"x"},{"name":"c","text":"x"},{"name":"b","text":"x"}]}`},
		{"items without keys", `{"name":"a","items":[{},{}]}`, []string{"a.items[0].name: is needed", "a.items[1].name: is needed"}, `{` + defaults + `,"name":"a","items":[{"text":"x"},{"text":"x"}]}`},
		{"a member twice", `{"name":"a","set":[200,"2xx",200,"200"]}`, []string{`a.set[2]: "200" is the name of entry 0 too`}, `{` + defaults + `,"name":"a","set":[200,"2xx",200,"200"]}`},
		{"an item twice", `{"name":"a","list":["b","b"]}`, nil, `{` + defaults + `,"name":"a","list":["b","b"]}`},
		{"integers or strings", `{"name":"a","set":[1.5,true,"6xx",3000000000]}`, []string{
			"a.set[0]: " + wantStatus, "a.set[1]: " + wantStatus, "a.set[2]: " + wantStatus, "a.set[3]: is a number beyond 32 bits",
		}, `{` + defaults + `,"name":"a","set":[null,null,"6xx",null]}`},
		{"a time", `{"name":"a","time":"hunter2"}`, []string{"a.time: must be a time such as 2006-01-02T15:04:05Z"}, `{` + defaults + `,"name":"a"}`},
		{"no unit", `{"name":"a","wait":"5"}`, []string{"a.wait: " + wantDuration + "; write 5s"}, `{` + defaults + `,"name":"a"}`},
		{"another unit", `{"name":"a","wait":"5m"}`, []string{"a.wait: wait a minute"}, `{` + defaults + `,"name":"a","wait":"5m"}`},
		{"no wait", `{"name":"a","wait":"0s"}`, []string{"a.wait: wait a minute"}, `{` + defaults + `,"name":"a","wait":"0s"}`},
		{"a minute", `{"name":"a","wait":"60s","cel":{}}`, nil, `{` + defaults + `,"name":"a","wait":"60s","cel":{}}`},
		{"neither", `{"name":"a","either":{},"most":{}}`, []string{"a.either: a or b"}, `{` + defaults + `,"name":"a","either":{},"most":{}}`},
		{"both", `{"name":"a","either":{"a":"","b":""},"most":{"a":"","b":""}}`, []string{"a.either: a or b", "a.most: not both"}, `{` + defaults + `,"name":"a","either":{"a":"","b":""},"most":{"a":"","b":""}}`},
		{"one", `{"name":"a","either":{"a":"","b":null},"most":{"a":""}}`, nil, `{` + defaults + `,"name":"a","either":{"a":""},"most":{"a":""}}`},
		{"one that may be misspelt", `{"name":"a","either":{"c":"","d":1}}`, []string{"a.either.c: unknown field", "a.either.d: unknown field"}, `{` + defaults + `,"name":"a","either":{}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := &schema{}
			if err := json.Unmarshal([]byte(smallSchema), of); err != nil {
				t.Fatal(err)
			}
			var document, rest map[string]any
			if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(tc.in), &document); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.rest), &rest); err != nil {
				t.Fatal(err)
			}
			s := &structure{}
			s.value(field.NewPath("a"), of, document)
			if diff := cmp.Diff(tc.want, append([]string(nil), ErrorLines(s.errs)...)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			var decoded small
			if err := convert(document, &decoded); err != nil {
				t.Fatal(err)
			}
			of.setDefaults(reflect.ValueOf(&decoded))
			var got map[string]any
			if err := convert(decoded, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plainly(t, rest), plainly(t, got)); diff != "" {
				t.Errorf("rest (-want +got):\n%s", diff)
			}
		})
	}
}

// plainly returns a document as indented JSON.
func plainly(t *testing.T, document map[string]any) string {
	t.Helper()
	out, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestGeneric compares the generic form of a spec that has each field with its JSON.
func TestGeneric(t *testing.T) {
	spec := &v1alpha1.LoadTestSpec{}
	if err := convert(builder.Full()["spec"], spec); err != nil {
		t.Fatal(err)
	}
	got, err := generic(reflect.ValueOf(spec))
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := convert(spec, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("generic form (-JSON +got):\n%s", diff)
	}
}

func TestExplains(t *testing.T) {
	s := &structure{}
	s.fail(field.NewPath("spec", "chains").Index(1).Child("weight"), "is too small")
	s.remove(field.NewPath("spec", "rates").Index(0).Child("requestsPerSecond"), "must be an integer")
	for path, want := range map[string]bool{
		"spec.chains[1].weight": true, "spec.chains[1].weight.x": true, "spec.chains[1]": false, "spec.chains[1].weights": false,
		"spec.rates[0].requestsPerSecond": true, "spec.rates[0]": true, "spec.rates": true, "spec.rates[0].duration": false, "spec.rates[1]": false,
	} {
		if got := s.explains(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	if !s.wrong("spec.chains") || s.wrong("spec.chains[1].weight.x") || s.wrong("spec.targets") {
		t.Error("wrong does not see what is wrong")
	}
}
