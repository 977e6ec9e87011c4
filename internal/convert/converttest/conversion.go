package converttest

import (
	"strings"
	"testing"
)

// Conversion is what is tested, with its options.
type Conversion func(input string) (out []byte, warnings []string, err error)

// Convert converts an input that has no mistakes.
func (c Conversion) Convert(t *testing.T, input string) (out string, warnings []string) {
	t.Helper()
	content, warnings, err := c(input)
	if err != nil {
		t.Fatal(err)
	}
	return string(content), warnings
}

// Mistake is an input that cannot be converted, and all that is said of it.
type Mistake [2]string

// Mistakes compares what is said of each.
func (c Conversion) Mistakes(t *testing.T, mistakes []Mistake) {
	t.Helper()
	for _, m := range mistakes {
		c.Mistake(t, m[0], m[1])
	}
}

// Mistake compares what is said of one.
func (c Conversion) Mistake(t *testing.T, input, want string) {
	t.Helper()
	if _, _, err := c(input); err == nil || err.Error() != want {
		t.Errorf("%q:\n%v\nwant %s", input, err, want)
	}
}

// Fuzz tries any input, beginning with the seeds.
func (c Conversion) Fuzz(f *testing.F, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) { c.Try(t, input) })
}

// Try converts any input: there must be a result or an error, not both, and the error that of the
// input.
func (c Conversion) Try(t *testing.T, input string) {
	t.Helper()
	out, _, err := c(input)
	if (err == nil) == (out == nil) {
		t.Errorf("%v, and %d bytes", err, len(out))
	}
	if err != nil && strings.Contains(err.Error(), "fault of the conversion") {
		t.Error(err)
	}
}
