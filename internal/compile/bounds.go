package compile

import (
	"cmp"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of the API, again. A test in test/integration walks the generated CRD and proves that
// each of its bounds is refused here too.
const (
	maxName       = 50 // pod host names are the LoadTest's name and an index, 63 in all
	maxURL        = 2048
	maxHeaderName = 256
	maxText       = 8192
	maxBody       = 262144
	maxListValue  = 1024
	maxNumber     = 1_000_000_000_000_000_000 // leaves room to add two of them in an int64
	maxDeadline   = 365 * 24 * 60 * 60        // seconds
)

var (
	dashName   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	columnName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
	envName    = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)
	identName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// name checks metadata.name, the second half of "namespace/name".
func (c *compiler) name(full string) {
	_, name, found := strings.Cut(full, "/")
	if !found {
		name = full
	}
	path := field.NewPath("metadata", "name")
	if name == "" {
		c.fail(path, "is required; or set metadata.generateName to the beginning of a name")
		return
	}
	c.dashName(path, name)
}

func (c *compiler) dashName(path *field.Path, name string) bool {
	return c.matchName(path, name, dashName, "lower-case letters, digits and -, beginning and ending with a letter or digit")
}

func (c *compiler) identName(path *field.Path, name string) bool {
	return c.matchName(path, name, identName, "letters, digits and _, not beginning with a digit")
}

func (c *compiler) matchName(path *field.Path, name string, pattern *regexp.Regexp, want string) bool {
	switch {
	case name == "":
		c.fail(path, "is needed")
	case utf8.RuneCountInString(name) > maxName:
		c.fail(path, "must have at most %d characters", maxName)
	case !pattern.MatchString(name):
		c.fail(path, "must be %s", want)
	default:
		return true
	}
	return false
}

// unique remembers name's index, or reports that it is taken.
func (c *compiler) unique(path *field.Path, index map[string]int, name string, i int) {
	if name == "" {
		return // reported already
	}
	if first, taken := index[name]; taken {
		c.fail(path, "%q is the name of entry %d too", name, first)
		return
	}
	index[name] = i
}

func between[T cmp.Ordered](c *compiler, path *field.Path, value, low, high T) bool {
	if value < low || value > high {
		c.fail(path, "must be between %v and %v", low, high)
		return false
	}
	return true
}

func (c *compiler) items(path *field.Path, n, low, high int) {
	switch {
	case n == 0 && low > 0:
		c.fail(path, "at least %d is needed", low)
	case n > high:
		c.fail(path, "has %d entries, at most %d are possible", n, high)
	}
}

func (c *compiler) length(path *field.Path, value string, high int) bool {
	if n := utf8.RuneCountInString(value); n > high {
		c.fail(path, "has %d characters, at most %d are possible", n, high)
		return false
	}
	return true
}

// orNil makes an empty list what a list is that is not there, as a plan that was written and read
// again has it.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// span bounds a duration. The text is the one of the API's rule.
type span struct {
	low, high time.Duration
	text      string
}

var (
	timeoutSpan = span{1, time.Hour, "must be greater than 0 and at most 1h"} // the histograms end there
	stageSpan   = span{1, 30 * 24 * time.Hour, "must be greater than 0 and at most 720h"}
	startSpan   = span{time.Second, 24 * time.Hour, "must be from 1s to 24h"}
	periodSpan  = span{time.Second, 24 * time.Hour, "must be at least 1s and at most 24h"}
	pingSpan    = span{100 * time.Millisecond, time.Hour, "must be at least 100ms and at most 1h"}
)

// duration checks a duration and returns it.
func (c *compiler) duration(path *field.Path, d *metav1.Duration, within span) time.Duration {
	if d.Duration < within.low || d.Duration > within.high {
		c.fail(path, "%s", within.text)
	}
	return d.Duration
}
