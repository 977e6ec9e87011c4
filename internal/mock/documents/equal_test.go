package documents

import (
	"errors"
	"fmt"
	"testing"
)

// TestEqual: the operation test compares numbers by value (RFC 6902 4.6), also huge ones.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`1`, `1.0`, true},
		{`-1.50`, `-15e-1`, true},
		{`1E+2`, `100`, true},
		{`0.001`, `1e-3`, true},
		{`0`, `-0.0e7`, true},
		{`0e999999999999999999999`, `0`, true},
		{`1e999999999`, `10e999999998`, true},
		{`1e99999999999999999999`, `1e99999999999999999999`, true},
		{`{"a":[1,{"b":2.0}],"c":null}`, `{"c":null,"a":[1.0,{"b":2}]}`, true},
		{`[]`, `[]`, true},
		{`1`, `1.5`, false},
		{`1`, `-1`, false},
		{`1`, `10`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`1e999999999`, `1e999999998`, false},
		{`1e99999999999999999999`, `1e99999999999999999998`, false},
		{`1`, `"1"`, false},
		{`1`, `true`, false},
		{`0`, `null`, false},
		{`"1"`, `"1.0"`, false},
		{`[1]`, `[1,1]`, false},
		{`[1]`, `{"0":1}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{}`, false},
	} {
		for _, of := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			patch := fmt.Sprintf(`[{"op":"test","path":"/v","value":%s}]`, of[1])
			_, err := Patch([]byte(`{"v":`+of[0]+`}`), []byte(patch))
			if c.equal && err != nil || !c.equal && !errors.Is(err, ErrConflict) {
				t.Errorf("%s and %s: %v; want equal %v", of[0], of[1], err, c.equal)
			}
		}
	}
}
