package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	wantStatus = "must be a status code from 100 to 599, or a class such as 2xx"
	wantLimit  = "must be a duration such as 20ms for a time, a percentage such as 0.1% for ErrorRate, a number such as 1000 or \"0.5\" for Rate, or one of 10, 0.1% and 5/s for a count"
)

// patternMessages are the messages about texts that do not match a pattern of the CRD.
var patternMessages = map[string]string{
	`^[0-9]{1,4}(\.[0-9]{1,9})?%$`:                                "must be a percentage such as 10%, at most 9999%",
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                             "must be lower-case letters, digits and -, beginning and ending with a letter or digit",
	`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`:                            "must be lower-case letters, digits, - and dots, beginning and ending with a letter or digit",
	`^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$`:                   "must be letters, digits, - and _, beginning and ending with a letter or digit",
	`^[A-Za-z_][A-Za-z0-9_]*$`:                                    "must be letters, digits and _, not beginning with a digit",
	`^[A-Za-z0-9][A-Za-z0-9._-]*$`:                                "must be letters, digits, dots, _ and -, beginning with a letter or digit",
	`^[A-Za-z0-9_][A-Za-z0-9_-]*$`:                                "must be letters, digits, _ and -, not beginning with -",
	`^[-._a-zA-Z][-._a-zA-Z0-9]*$`:                                "must be letters, digits, -, _ and dots, not beginning with a digit",
	`^(\.?[-_A-Za-z0-9][-._A-Za-z0-9]*)$`:                         "must be letters, digits, -, _ and dots, and not begin with two dots",
	`^[^/]+/[^/]+$`:                                               "must be the names of a chain and a step, such as app-session/create",
	`^(50(\.0{1,9})?|[1-4]?[0-9](\.[0-9]{1,9})?)%$`:               "must be a percentage of at most 50%, such as 3%",
	`^[!#-\[\]-~]+$`:                                              "must be printable ASCII characters without spaces, quotation marks and backslashes",
	`^[ -~]+$`:                                                    "must be printable ASCII characters",
	`^TLS_[A-Z0-9_]+$`:                                            "is not known; allowed: IANA names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	`^p(100(\.0+)?|[1-9][0-9]?(\.[0-9]+)?|0\.[0-9]*[1-9][0-9]*)$`: "must be a percentile above p0 and at most p100, such as p99.9",
	`^/`:                 "must begin with /",
	`^(0(\.[0-9]+)?|1)$`: "must be a number from 0 to 1 in quotes, such as \"0.99\"",
	`^[^/\s]+$`:          "must be the name of a network interface, without / and white space",
	`^(metadata\.(name|namespace|uid|(labels|annotations)\['[-./_A-Za-z0-9]+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$`: "must be a field of the pod, such as metadata.name, metadata.labels['KEY'], spec.nodeName or status.podIP",

	`^[0-9]{3}$`:             "must have 3 digits, in quotes",
	`^[0-9]{2,3}$`:           "must have 2 or 3 digits, in quotes",
	`^[0-9]{2}$`:             "must have 2 digits, in quotes",
	`^[0-9]{8}$`:             "must have 8 digits, in quotes",
	`^[0-9]+$`:               "must consist of digits, in quotes",
	`^[0-9A-Fa-f]{32}$`:      "must have 32 hexadecimal digits",
	`^[1-5]([0-9][0-9]|xx)$`: wantStatus,
	limitPattern:             wantLimit,
	quantityPattern:          "must be a quantity such as 500m or 1Gi",
}

// mistyped is the message about a value of another type. It has an example where one is known.
func (s *schema) mistyped(at *field.Path, value any) string {
	path := at.String()
	switch {
	case value == nil:
		return "must not be null"
	case s.duration() != nil:
		return wantDuration + DurationHint(shown(value))
	case s.IntOrString:
		return cmp.Or(patternMessages[s.Pattern], "must be an integer or a string")
	}
	switch s.Type {
	case "object":
		return s.noObject(path, value)
	case "array":
		return s.noList(path, value)
	case "string":
		return noString(path, value)
	case "boolean":
		return "must be true or false"
	case "integer":
		return noInteger(path, value)
	}
	return "must be a number"
}

func noInteger(path string, value any) string {
	text, quoted := value.(string)
	number, isNumber := value.(float64)
	switch {
	case quoted && isInteger(text):
		return "must be an integer; remove the quotes"
	case isNumber && number >= 1<<53:
		return "is a number beyond 64 bits"
	case isNumber && strings.HasSuffix(path, ".requestsPerSecond"):
		return "must be an integer; write requestsPer: {count: 1, period: 2s} for 0.5 requests a second"
	}
	return "must be an integer"
}

// noObject is the message about a value that must be an object. It has what to write for the value.
func (s *schema) noObject(path string, value any) string {
	name := path[strings.LastIndex(path, ".")+1:]
	_, isBool := value.(bool)
	_, isList := value.([]any)
	wrapped := s.wrapped(name, value)
	switch {
	case len(s.Properties) == 0 && s.Values == nil && !s.Open, name == "closedLoop" && isBool:
		return fmt.Sprintf("must be an object; write %s: {}", name)
	case name == "expect":
		return fmt.Sprintf("must be an object; write expect: {status: [%s]}", cmp.Or(shown(value), "201"))
	case wrapped != "" && !isList:
		return fmt.Sprintf("must be an object; write %s: %s", name, wrapped)
	case s.Properties.field("values") != nil && isList:
		return fmt.Sprintf("must be an object; write %s: {values: [...]}", name)
	}
	return "must be an object"
}

func (s *schema) noList(path string, value any) string {
	_, isObject := value.(map[string]any)
	name := path[strings.LastIndex(path, ".")+1:]
	text := shown(value)
	if text == "" && name == "status" {
		text = "200"
	}
	switch {
	case !isObject && text != "" && s.Items.accepts(value):
		return fmt.Sprintf("must be a list; write %s: [%s]", name, text)
	case isObject && s.Items.Properties.field("name") != nil && s.Items.Properties.field("value") != nil:
		return "must be a list; write each item as - {name: NAME, value: VALUE}"
	}
	return `must be a list; begin each item with "- "`
}

// noString is the message about a value that must be a string. YAML reads y, no and on as true and false.
func noString(path string, value any) string {
	number := ""
	switch v := value.(type) {
	case bool:
		return fmt.Sprintf("must be a string; YAML reads the value as %v: put it in quotes", v)
	case int64:
		number = strconv.FormatInt(v, 10)
	case float64:
		number = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return "must be a string; put quotes around a value that begins with { or ["
	}
	switch {
	case strings.HasSuffix(path, ".percentile"):
		return "must be a string such as p" + number
	case endsWithOne(path, ".bodyHex", ".aka.k.value", ".aka.op.value", ".aka.opc.value"):
		return "must be a string; put the hexadecimal digits in quotes"
	case endsWithOne(path, ".supi.mcc", ".supi.mnc", ".gpsi.prefix", ".pei.tac", ".pei.softwareVersion"):
		return "must be a string; put the digits in quotes, with their zeros" // YAML reads 001 as 1
	case strings.Contains(number, "e"):
		return "must be a string; put the number in quotes, with all its digits" // YAML rounds long numbers
	}
	return fmt.Sprintf("must be a string; put the number in quotes: %q", number)
}

func endsWithOne(s string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(s, end) })
}

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}
