package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// foreign is what to write in place of a field of another tool.
type foreign struct {
	// write has %s for the value that the user gave the field; example stands for a value that is not shown.
	write, example string
	// next is a field of the objects in which write belongs, and place is how messages call these objects. If place is
	// empty, the word means something else in other objects.
	next, place string
}

const inStages = "an entry of spec.rates"

// foreignFields are the fields of other load generators: k6, Gatling, Artillery, Locust, JMeter, wrk2, vegeta.
var foreignFields = map[string]foreign{
	"vus":         {"closedLoop: {concurrency: %s}", "N", "closedLoop", inStages},
	"users":       {"closedLoop: {concurrency: %s}", "N", "closedLoop", inStages},
	"threads":     {"closedLoop: {concurrency: %s}", "N", "closedLoop", inStages},
	"concurrency": {"closedLoop: {concurrency: %s}", "N", "closedLoop", inStages},
	"rate":        {"requestsPerSecond: %s (it counts requests) or chainsPerSecond: %[1]s (it counts chains, as k6 counts iterations)", "N", "closedLoop", inStages},
	"rps":         {"requestsPerSecond: %s", "N", "closedLoop", inStages},
	"qps":         {"requestsPerSecond: %s", "N", "closedLoop", inStages},
	"target":      {"requestsPerSecond: %s or chainsPerSecond: %[1]s for a rate, or closedLoop: {concurrency: %[1]s} for a number of users", "N", "closedLoop", ""},
	"arrivalRate": {"chainsPerSecond: %s", "N", "closedLoop", inStages},
	"startRate":   {"rampFrom: %s", "N", "closedLoop", inStages},
	"rampTo": {"requestsPerSecond: %s or chainsPerSecond: %[1]s for the end of the ramp, and rampFrom for its start",
		"N", "closedLoop", inStages},
	"timeUnit":   {"requestsPer: {count: N, period: %s}", "TIME", "closedLoop", inStages},
	"executor":   {"requestsPerSecond, chainsPerSecond or closedLoop", "", "closedLoop", inStages},
	"iterations": {"requests: %s (each step of a chain counts)", "N", "closedLoop", inStages},
	"maxVUs":     {"maxInFlight: %s", "N", "maxInFlight", "a chain"},
	"stages":     {"rates", "", "rates", "spec"},
	"scenarios":  {"chains", "", "chains", "spec"},
	"jsonpath":   {"jsonPath", "", "jsonPath", ""},
	"sleep":      {"thinkTime: {fixed: %s}", "TIME", "thinkTime", "a step of a chain"},
	"pause":      {"thinkTime: {fixed: %s}", "TIME", "thinkTime", "a step of a chain"},
	"think":      {"thinkTime: {fixed: %s}", "TIME", "thinkTime", "a step of a chain"},

	"rampUp":          {"rampFrom: N and duration: %s", "TIME", "closedLoop", inStages},
	"preAllocatedVUs": {"maxInFlight: %s", "N", "maxInFlight", "a chain"},
	"url":             {"path, which begins with /; the host is in spec.targets", "", "path", ""},
	"json":            {"body", "", "body", ""},
	"check":           {"expect", "", "expect", "a request"},
	"checks":          {"expect", "", "expect", "a request"},
	"assertions":      {"expect", "", "expect", "a request"},
	"extract":         {"capture", "", "capture", "a request"},
	"lessThan":        {"max: %s", "LIMIT", "max", "a threshold"},
	"p99":             {"percentile: p99 and max: %s", "TIME", "percentile", "a threshold"},
	"p95":             {"percentile: p95 and max: %s", "TIME", "percentile", "a threshold"},
	"feeders":         {"variables", "", "variables", "spec"},
}

// misplacedFields are fields of a LoadTest that people write elsewhere.
var misplacedFields = map[string]foreign{
	"duration":     {"duration: %s", "TIME", "closedLoop", inStages},
	"gracefulStop": {"gracefulStop: %s", "TIME", "gracefulStop", "spec"},
}

// foreignMetrics are the metrics that other words mean. Their keys are in lower case.
var foreignMetrics = map[string][]string{
	"latency":           {"ResponseTime", "ServiceTime", "TimeToFirstByte"},
	"duration":          {"ResponseTime", "ServiceTime", "TimeToFirstByte"},
	"http_req_duration": {"ResponseTime", "ServiceTime", "TimeToFirstByte"},
	"ttfb":              {"TimeToFirstByte", "ServiceTime", "ResponseTime"},
	"http_req_failed":   {"ErrorRate", "Failed", "FailedChecks"},
	"errors":            {"ErrorRate", "Failed", "FailedChecks"},
	"checks":            {"FailedChecks", "ErrorRate", "Failed"},
	"throughput":        {"Rate", "Succeeded", "Responses"},
	"rps":               {"Rate", "Succeeded", "Responses"},
	"requests":          {"Rate", "Responses", "Succeeded"},
}

// otherName is the end of the message about an unknown field of an object that can have the fields of names.
func otherName(name string, value any, names []string) string {
	f, known := foreignFields[name]
	if !known {
		f, known = misplacedFields[name]
	}
	fits := known && slices.Contains(names, f.next)
	switch near := didYouMean(name, names); {
	case fits && f.write == f.next:
		return "; did you mean " + f.write + "?"
	case fits:
		return "; write " + f.with(value)
	case near != "":
		return near
	case known && f.place != "":
		return "; in " + f.place + ", write " + f.with(value)
	}
	return ""
}

func (f *foreign) with(value any) string {
	if !strings.Contains(f.write, "%s") {
		return f.write
	}
	return fmt.Sprintf(f.write, cmp.Or(shown(value), f.example))
}

// plainValue matches the texts that messages may show, because they are not secret: durations, percentages, numbers,
// classes of status codes, names of files.
var plainValue = lazy.Regexp(`^([0-9]{1,12}(\.[0-9]{1,9})?(ns|us|\x{b5}s|ms|s|m|h|%)?|[1-5]xx|[A-Za-z0-9._/-]{1,100}\.(bin|csv|json|lua|pem|txt|xml))$`)

// shown returns a value as a message may show it, or "".
func shown(value any) string {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		if plainValue().MatchString(v) {
			return v
		}
	}
	return ""
}

// nearestThree returns the end of the message about a text that is not one of many.
func nearestThree(text string, allowed []string) string {
	near, known := foreignMetrics[strings.ToLower(text)]
	if !known || !slices.Contains(allowed, near[0]) {
		near = slices.Clone(allowed)
		slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(remoteness(text, a), remoteness(text, b)) })
	}
	return fmt.Sprintf("; did you mean %s, %s or %s? \"h2surge explain spec.thresholds.metric\" lists all %d", near[0],
		near[1], near[2], len(allowed))
}

// remoteness is the distance of two names, less the characters that they begin with, in percent of the longer name.
func remoteness(a, b string) int {
	a, b = strings.ToLower(a[:min(len(a), maxCompared)]), strings.ToLower(b)
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	return 100 * (distance(a, b) - common) / max(len(a), len(b))
}

// maxCompared is how much of a text is compared with the names that exist: names are shorter.
const maxCompared = 100

// units of durations that Go does not have, and those that users write in words.
var units = map[string]struct {
	factor int64
	unit   string
}{
	"": {1, "s"}, "d": {24, "h"}, "day": {24, "h"}, "w": {168, "h"}, "week": {168, "h"},
	"sec": {1, "s"}, "second": {1, "s"}, "min": {1, "m"}, "minute": {1, "m"}, "hour": {1, "h"}, "hr": {1, "h"},
	"msec": {1, "ms"}, "millisecond": {1, "ms"},
}

var otherDuration = lazy.Regexp(`^([0-9]{1,9}) ?([a-z]*?)s?$`)

// DurationHint is the end of a message about a text that is not a duration: "; write 24h" for 1d, and "; write 1s500ms"
// for 1.5s.
func DurationHint(text string) string {
	if d, err := time.ParseDuration(text); err == nil && strings.Contains(text, ".") {
		return "; write " + v1alpha1.Duration{Duration: d}.String()
	}
	m := otherDuration().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	u, known := units[m[2]]
	if n, err := strconv.ParseInt(m[1], 10, 64); known && err == nil {
		return fmt.Sprintf("; write %d%s", n*u.factor, u.unit)
	}
	return ""
}

// scalars are the fields that the scalar in place of an object means, with what stands for a value that does not fit.
var scalars = map[string]struct{ field, example string }{
	"closedLoop": {"concurrency", "50"}, "thinkTime": {"fixed", "200ms"}, "requestsPer": {"count", "1"},
	"retry":  {"attempts", "3"},
	"repeat": {"count", "10"}, "range": {"end", "100"}, "subscribers": {"count", "1000"}, "ramp": {"connections", "10"},
	"hex":    {"length", "32"},
	"string": {"length", "16"}, "exponential": {"mean", "200ms"}, "env": {"name", "NAME"}, "constant": {"value", "TEXT"},
	"csv":      {"file", "FILE"},
	"bodyFrom": {"file", "FILE"}, "luaFrom": {"file", "FILE"}, "jsonSchema": {"file", "FILE"}, "caFrom": {"file", "FILE"},
	"request": {"path", "PATH"},
}

// wrapped is the object that a scalar means: {fixed: 200ms} for the thinkTime 200ms; "": the object has no such field.
func (s *schema) wrapped(name string, value any) string {
	means, known := scalars[name]
	inner := s.Properties.field(means.field)
	if !known || inner == nil {
		return ""
	}
	text := shown(value)
	if number, is := value.(int64); is && inner.duration() != nil {
		text = strconv.FormatInt(number, 10) + "s"
		value = text
	}
	if text == "" || !inner.accepts(value) || inner.bounds(value) != "" {
		text = means.example
	}
	if name == "requestsPer" {
		text += ", period: 1s"
	}
	return fmt.Sprintf("{%s: %s}", means.field, text)
}
