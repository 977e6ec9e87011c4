package compile

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"requestsPerSecond", "duration", "ue", "v"}
	for name, want := range map[string]string{
		"requestPerSecond": "requestsPerSecond", "Duration": "duration", "eu": "ue", "k": "", "somethingElse": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
