//go:build !race

package extract

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestValueAllocatesNothing(t *testing.T) {
	x, dst := exchange(), make([]byte, 0, 64)
	for _, s := range []rv.Source{
		{Kind: rv.SourceHeader, Name: "location"},
		{Kind: rv.SourceHeader, Name: "location", Regex: "[0-9]+"},
		{Kind: rv.SourceHeader, Name: "location", Joined: true},
		{Kind: rv.SourceStatus},
		{Kind: rv.SourceBody},
		{Kind: rv.SourceBodySize},
		{Kind: rv.SourceResponseTime},
		{Kind: rv.SourceJSONPointer, Pointer: "/a/b"},
		{Kind: rv.SourceJSONPointer, Pointer: "/n/-1"},
		{Kind: rv.SourceJSONPath, JSONPath: "$.n[-1]"},
		{Kind: rv.SourceJSONPath, JSONPath: "$[?@.b].b"},
		{Kind: rv.SourceBodyHex},
		{Kind: rv.SourceRequestMethod},
		{Kind: rv.SourceRequestPath},
		{Kind: rv.SourceRequestHeader, Name: "accept"},
		{Kind: rv.SourceRequestBody},
		{Kind: rv.SourceRequestJSONPointer, Pointer: "/id/0"},
	} {
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		ok := false
		if n := testing.AllocsPerRun(100, func() { _, ok = e.Value(dst, x) }); n != 0 || !ok {
			t.Errorf("%+v: %v allocations, a value %v", s, n, ok)
		}
	}
}

func TestPartAllocatesNothing(t *testing.T) {
	x, dst := twoParts(), make([]byte, 0, 64)
	for _, s := range []rv.Source{
		{Kind: rv.SourceBody, Part: "n1msg"},
		{Kind: rv.SourceBodyHex, Part: "application/vnd.3gpp.ngap"},
		{Kind: rv.SourceBodySize, Part: "n1msg"},
		{Kind: rv.SourceJSONPointer, Pointer: "/n1/contentId", Part: "application/json"},
	} {
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		ok := false
		if n := testing.AllocsPerRun(100, func() { _, ok = e.Value(dst, x) }); n != 0 || !ok {
			t.Errorf("%+v: %v allocations, a value %v", s, n, ok)
		}
	}
}

func TestCauseAllocatesNothing(t *testing.T) {
	body, dst := []byte(`{"cause":"INVALID\u005fAPI","type":"/x"}`), make([]byte, 0, 128)
	if n := testing.AllocsPerRun(100, func() { Cause(dst, body) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
