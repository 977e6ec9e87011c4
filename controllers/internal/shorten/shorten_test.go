package shorten

import "testing"

func TestTo(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 4, ""},
		{"four", 4, "four"},
		{"five!", 4, "f..."},
		{"aäbcde", 5, "a..."}, // the second byte is the first half of ä
		{"aäbcde", 6, "aä..."},
	} {
		if got := To(tt.text, tt.n); got != tt.want {
			t.Errorf("To(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
