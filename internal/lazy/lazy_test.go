package lazy

import "testing"

func TestRegexp(t *testing.T) {
	broken, digits := Regexp("("), Regexp("^[0-9]+$")
	if !digits().MatchString("12") || digits().MatchString("x") {
		t.Error("the expression does not match as it should")
	}
	if first := digits(); first != digits() {
		t.Error("the expression is compiled again")
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression does not panic")
		}
	}()
	broken()
}
