package cli

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/lazy"
)

// formFlag is a flag of the URL form: a row of its table, and the pflag.Value of the flag.
type formFlag struct {
	name, letter string
	// field is the field that the flag sets, as fieldOf returns it.
	field string
	set   func(text string) error
	// usage has the value in backquotes, or a default. A usage with neither is that of a boolean.
	usage string
}

func (f *formFlag) Set(text string) error { return f.set(text) }

// String returns the default in the help: the usage has it.
func (*formFlag) String() string { return "" }

// Type is what pflag and the completion of shells look at.
func (f *formFlag) Type() string {
	switch {
	case !strings.Contains(f.usage, "`") && !strings.Contains(f.usage, "(default "):
		return "bool"
	case strings.Contains(f.usage, "may be repeated"):
		return "stringArray"
	}
	return "string"
}

// into returns the function that parses the value of a flag and stores it.
func into[T any](value *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*value, err = parse(text)
		return err
	}
}

func text[T ~string](s string) (T, error) { return T(s), nil }

func whole[T int | int32 | int64](s string) (T, error) {
	n, err := strconv.ParseInt(s, 0, reflect.TypeFor[T]().Bits())
	return T(n), err
}

// optional is a number whose zero is not the same as no number.
func optional(s string) (*int64, error) {
	n, err := whole[int64](s)
	return &n, err
}

// duration reads a duration whose unit may be left out, as h2load has it.
func duration(s string) (*v1alpha1.Duration, error) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return &v1alpha1.Duration{Duration: time.Duration(n) * time.Second}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("%q is not a duration; allowed: durations such as 10s, 500ms or 2m%s", s,
			compile.DurationHint(s))
	}
	return &v1alpha1.Duration{Duration: d}, nil
}

// limit is a duration whose zero means that there is no limit.
func limit(s string) (*v1alpha1.Duration, error) {
	d, err := duration(s)
	if err != nil || d.Duration == 0 {
		return nil, err
	}
	return d, nil
}

// list splits at colons and commas: h2load has the former for groups and suites, the latter for
// protocols, and no name contains either. A list without names is nil.
func list(s string) ([]string, error) {
	return append([]string(nil), strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == ',' })...), nil
}

// octets reads a number with an optional unit K, M or G, as h2load has it.
func octets(s string) (*int32, error) {
	digits, shift := s, 0
	if n := len(s); n > 0 {
		if i := strings.IndexByte("KMG", s[n-1]&^0x20); i >= 0 {
			digits, shift = s[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || n > math.MaxInt32>>shift {
		return nil, fmt.Errorf("%q is not a number of octets; allowed: numbers such as 16384 or 16K", s)
	}
	return new(int32(n) << shift), nil
}

// window reads the N of a window of 2^N-1 octets.
func window(s string) (*int32, error) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || n < 1 || n > 31 {
		return nil, fmt.Errorf("%q is not allowed; allowed: 1 to 31", s)
	}
	return new(int32(1<<n - 1)), nil
}

// mistakes are messages about flags.
type mistakes []string

// add adds a message if it applies.
func (m *mistakes) add(applies bool, format string, args ...any) {
	if applies {
		*m = append(*m, fmt.Sprintf(format, args...))
	}
}

// unlessZero returns a pointer to a value, or nil if the value is zero.
func unlessZero[T any](v T) *T {
	if reflect.ValueOf(v).IsZero() {
		return nil
	}
	return &v
}

// Each URL has a chain with one step. Many URLs are the values of one variable. The warm-up is the first rate.
var (
	requestPath  = lazy.Regexp(`^spec\.chains\[\d+\]\.steps\[0\]\.request\.`)
	variablePath = lazy.Regexp(`^spec\.variables\[\d+\]`)
	ratePath     = lazy.Regexp(`^spec\.rates\[\d+\]\.`)
)

// fieldOf returns a field of the LoadTest as the table has it: target.tls.alpn for spec.targets[0].tls.alpn.
func (u *urlForm) fieldOf(field string) string {
	if u.warmUp != nil && field == "spec.rates[0].duration" {
		return "rate.warmUp"
	}
	if u.search != nil && u.search.p99 == nil { // then the limit of errors is the first threshold
		field = strings.Replace(field, "spec.thresholds[0]", "spec.thresholds[1]", 1)
	}
	field = requestPath().ReplaceAllString(field, "request.")
	field = variablePath().ReplaceAllString(field, "request.path")
	field = ratePath().ReplaceAllString(field, "rate.")
	return strings.Replace(field, "spec.targets[0].", "target.", 1)
}

// setBy returns what sets a field, if that is not one flag of the table.
func (u *urlForm) setBy(field string) string {
	switch field {
	case "target.url", "request.path":
		return "URL"
	case "request.body", "request.bodyBase64":
		return u.curl.bodyFlag()
	case "request.headers":
		return "-H"
	case "request.method":
		return map[bool]string{true: "-X", false: "-H"}[u.method != ""]
	case "target.tls.certificate.files.key":
		return map[bool]string{true: "--key", false: "--cert"}[u.own.Changed("key")]
	case "rate.requestsPer.count":
		return "--rps"
	case "spec.runner.cpusPerShard":
		return "-t"
	}
	return ""
}

// flagOf returns the flags that set a field, as the user wrote them. If none on the command line sets the field, it
// returns those that set fields of the object that has the field, and at last the flag that was left out.
func (u *urlForm) flagOf(field string) (flag string) {
	field = u.fieldOf(field)
	for at := field; strings.Contains(at, "."); at = at[:strings.LastIndexAny(at, ".[")] {
		if name := u.setBy(at); name != "" {
			return name
		}
		var given []string
		for _, f := range u.flags {
			own := u.own.Lookup(f.name)
			if f.field == field {
				flag = command.Typed(own)
			}
			if own.Changed && (f.field == at || strings.HasPrefix(f.field, at+".")) {
				given = append(given, command.Typed(own))
			}
		}
		if len(given) > 0 {
			return strings.Join(given, ", ")
		}
	}
	return flag
}

// onFlags puts what was typed in place of the fields it was made into, so that an error names
// what the user can see.
func (u *urlForm) onFlags(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Field = cmp.Or(u.flagOf(err.Field), err.Field)
	}
	return errs
}
