package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/h2surge/h2surge/internal/lazy"
)

// filter takes a part of a placeholder's value: what a regular expression matches, or a range of bytes.
type filter struct {
	re            *regexp.Regexp // nil: a range
	start, length int            // a negative length is all
}

// apply leaves of dst[at:] what the filter takes.
func (f *filter) apply(dst []byte, at int) []byte {
	value := dst[at:]
	from, to := min(f.start, len(value)), len(value)
	switch {
	case f.re != nil:
		from, to = f.find(value)
	case f.length >= 0:
		to = min(from+f.length, len(value))
	}
	n := copy(value, value[from:to])
	return dst[:at+n]
}

// find returns where the first group matches, or the whole if the expression has no group.
func (f *filter) find(value []byte) (from, to int) {
	at := f.re.FindSubmatchIndex(value)
	switch {
	case at == nil:
		return 0, 0
	case len(at) > 2 && at[2] < 0: // the group takes no part in the match
		return 0, 0
	case len(at) > 2:
		return at[2], at[3]
	}
	return at[0], at[1]
}

// cutPlaceholder returns what stands in a placeholder, and what follows it. Within the single quotes of a filter a }
// does not end the placeholder.
func cutPlaceholder(s string) (inside, rest string, closed bool) {
	quoted, filtered := false, false
	for i := range len(s) {
		switch {
		case s[i] == '|':
			filtered = true
		case s[i] == '\'' && filtered:
			quoted = !quoted
		case s[i] == '}' && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return "", "", false
}

// filterStart finds the first filter: what stands before it may have a | of its own.
var filterStart = lazy.Regexp(`\s*\|\s*(?:match|slice)\(`)

// cutFilters separates "SOURCE | match('EXPR') | slice(START,LENGTH)".
func cutFilters(inside string) (source string, filters []filter, err error) {
	at := filterStart().FindStringIndex(inside)
	if at == nil {
		return inside, nil, nil
	}
	source, rest := inside[:at[0]], inside[at[0]:]
	for rest != "" {
		var f filter
		if f, rest, err = cutFilter(rest); err != nil {
			return source, nil, fmt.Errorf("${%s}: %w", inside, err)
		}
		filters = append(filters, f)
	}
	return source, filters, nil
}

var (
	matchFilter = lazy.Regexp(`^\s*\|\s*match\('([^']*)'\)\s*`)
	sliceFilter = lazy.Regexp(`^\s*\|\s*slice\((\d{1,9}),\s*(-1|\d{1,9})\)\s*`)
)

func cutFilter(s string) (f filter, rest string, err error) {
	if m := matchFilter().FindStringSubmatch(s); m != nil {
		f.re, err = regexp.Compile(m[1])
		return f, s[len(m[0]):], err
	}
	if m := sliceFilter().FindStringSubmatch(s); m != nil {
		f.start, _ = strconv.Atoi(m[1])
		f.length, _ = strconv.Atoi(m[2])
		return f, s[len(m[0]):], nil
	}
	return f, "", errors.New("a filter is match('EXPRESSION') or slice(START,LENGTH)")
}
