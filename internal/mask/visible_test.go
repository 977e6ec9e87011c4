package mask

import "testing"

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"a \t\u00fc\u65e5\n":           "a \t\u00fc\u65e5\n",
		"\x1b[31mred\x07":              `\x1b[31mred\a`,
		"over\rwritten":                `over\rwritten`,
		"\u009b31m\u202etxt\u200b\x7f": `\u009b31m\u202etxt\u200b\x7f`,
		"\xff":                         "\uFFFD",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) is %q, want %q", in, got, want)
		}
	}
}
