package compile

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	wantDuration = "must be a duration such as 500ms or 1m30s"
	// limitPattern is the pattern of max and min of thresholds. thresholds.go checks them: it knows what each metric
	// allows.
	limitPattern = `^([0-9]{1,12}(\.[0-9]{1,9})?(/s)?|(100(\.0{1,9})?|[0-9]{1,2}(\.[0-9]{1,9})?)%|([0-9]{1,12}(ns|us|\x{b5}s|ms|s|m|h)){1,6})$`
	// quantityPattern is the pattern of the API server for quantities.
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
)

// unreadable returns what is wrong with a value that cannot be decoded, because it has another type or format, or "".
func (s *schema) unreadable(at *field.Path, value any) string {
	if !s.accepts(value) {
		return s.mistyped(at, value)
	}
	switch v := value.(type) {
	case string:
		return s.malformed(v)
	case int64:
		return s.beyond(float64(v))
	case float64:
		return s.beyond(v)
	}
	return ""
}

// beyond returns what is wrong with a number that Go has no space for, or "".
func (s *schema) beyond(n float64) string {
	if s.Format == "int32" || s.IntOrString && s.Pattern != quantityPattern {
		if n < math.MinInt32 || n > math.MaxInt32 {
			return "is a number beyond 32 bits"
		}
	}
	return ""
}

// accepts reports whether a value has the type of the schema.
func (s *schema) accepts(value any) bool {
	is := ""
	switch v := value.(type) {
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case map[string]any:
		is = "object"
	case []any:
		is = "array"
	case int64:
		is = "integer"
	case float64:
		is = "number"
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			is = "integer"
		}
	}
	if s.IntOrString {
		return is == "integer" || is == "string"
	}
	return is == s.Type || is == "integer" && s.Type == "number"
}

// malformed returns what is wrong with a text that Go reads as something else, such as a duration.
func (s *schema) malformed(text string) string {
	var err error
	problem := ""
	switch {
	case s.duration() != nil:
		_, err = time.ParseDuration(text)
		problem = wantDuration + DurationHint(text)
	case s.Pattern == quantityPattern:
		_, err = resource.ParseQuantity(text)
		problem = patternMessages[quantityPattern]
	case s.Format == "date-time":
		_, err = time.Parse(time.RFC3339, text)
		problem = "must be a time such as 2006-01-02T15:04:05Z"
	case s.Format == "byte":
		_, err = base64.StdEncoding.DecodeString(text)
		problem = "must be base64 (RFC 4648)"
	}
	if err != nil {
		return problem
	}
	return ""
}

// bounds returns what is wrong with a value that has the right type, or "". It does not look at the fields and items of
// the value.
func (s *schema) bounds(value any) string {
	switch v := value.(type) {
	case string:
		return s.text(v)
	case int64: // exact, and float64 is not
		return s.number(s.Minimum != nil && v < int64(*s.Minimum), s.Maximum != nil && v > int64(*s.Maximum))
	case float64:
		return s.number(s.Minimum != nil && v < *s.Minimum, s.Maximum != nil && v > *s.Maximum)
	case []any:
		return s.count(len(v))
	case map[string]any:
		if n := len(v); n < s.MinFields || s.MaxFields > 0 && n > s.MaxFields {
			return s.oneField()
		}
	case bool:
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
			return fmt.Sprintf("must be %v", s.Enum[0])
		}
	}
	return ""
}

func (s *schema) text(text string) string {
	n := utf8.RuneCountInString(text)
	isOther := s.Pattern != "" && s.Pattern != limitPattern && !matches(s.Pattern, text) || len(s.Enum) > 0 &&
		!slices.Contains(s.Enum, any(text))
	isLong := s.MaxLength > 0 && n > s.MaxLength
	d := s.duration()
	switch {
	case d != nil && d.broken(text):
		return d.message
	case d != nil && (isOther || isLong):
		return wantDuration + DurationHint(text)
	case n == 0 && (s.MinLength > 0 || isOther):
		return "must not be empty"
	case n < s.MinLength:
		return fmt.Sprintf("has %d characters, at least %d are needed", n, s.MinLength)
	case isLong && s.MaxLength == 1:
		return "must be one character"
	case isLong:
		return fmt.Sprintf("has %d characters, at most %d are possible", n, s.MaxLength)
	case isOther && len(s.Enum) == 2:
		return fmt.Sprintf("must be %v or %v", s.Enum[0], s.Enum[1])
	case isOther && len(s.Enum) > 8:
		return "is not known" + nearestThree(text, allowedTexts(s.Enum))
	case isOther && len(s.Enum) > 0:
		return "must be one of " + strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Enum), "[]"), " ", ", ")
	case isOther:
		return cmp.Or(patternMessages[s.Pattern], "must match "+s.Pattern)
	}
	return ""
}

func allowedTexts(enum []any) (out []string) {
	for _, value := range enum {
		out = append(out, fmt.Sprint(value))
	}
	return out
}

func (s *schema) number(isLow, isHigh bool) string {
	switch {
	case !isLow && !isHigh:
		return ""
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("must be between %.0f and %.0f", *s.Minimum, *s.Maximum)
	case isHigh:
		return fmt.Sprintf("must be at most %.0f", *s.Maximum)
	case *s.Minimum == 0:
		return "must not be negative"
	}
	return fmt.Sprintf("must be at least %.0f", *s.Minimum)
}

// count returns what is wrong with the number of items of a list, or "".
func (s *schema) count(n int) string {
	switch {
	case n == 0 && s.MinItems == 1:
		return "at least 1 is needed"
	case n == 0 && s.MinItems > 1:
		return fmt.Sprintf("at least %d are needed", s.MinItems)
	case n < s.MinItems:
		return fmt.Sprintf("has %d entries, at least %d are needed", n, s.MinItems)
	case s.MaxItems > 0 && n > s.MaxItems:
		return fmt.Sprintf("has %d entries, at most %d are possible", n, s.MaxItems)
	}
	return ""
}

// oneField is the message about an object that must have exactly one field.
func (s *schema) oneField() string {
	names := s.Properties.names()
	last := len(names) - 1
	return "exactly one of " + strings.Join(names[:last], ", ") + " and " + names[last] + " is needed"
}
