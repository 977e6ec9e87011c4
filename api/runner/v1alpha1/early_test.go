package v1alpha1

import "testing"

func TestEarlyDataAllows(t *testing.T) {
	for _, c := range []struct {
		early   EarlyData
		method  string
		changes bool
		want    bool
	}{
		{"", "GET", false, false},
		{EarlySafe, "GET", false, true},
		{EarlySafe, "HEAD", false, true},
		{EarlySafe, "OPTIONS", false, true},
		{EarlySafe, "TRACE", false, true},
		{EarlySafe, "GET", true, false},
		{EarlySafe, "get", false, false},
		{EarlySafe, "POST", false, false},
		{EarlySafe, "QUERY", false, false},
		{EarlyAll, "POST", false, true},
		{EarlyAll, "GET", true, true},
	} {
		if got := c.early.Allows(c.method, c.changes); got != c.want {
			t.Errorf("%q, %s, changes %t: %t", c.early, c.method, c.changes, got)
		}
	}
}
