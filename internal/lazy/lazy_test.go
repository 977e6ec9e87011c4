package lazy

import "testing"

func TestRegexp(t *testing.T) {
	broken := Regexp("(")
	if digits := Regexp("^[0-9]+$"); !digits().MatchString("12") || digits().MatchString("x") || digits() != digits() {
		t.Error("the expression is not the same one")
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	broken()
}
