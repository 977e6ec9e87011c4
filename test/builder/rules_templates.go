package builder

import (
	"fmt"
	"slices"
)

// The templates of full.yaml: 0 create, 1 read, 2 base, 3 judged, 4 use, 5 from-secret, 6 from-file, 7 binary,
// 10 parts.
// The checks and captures of template 3 have one source of each kind, in the order of the API.

const (
	oneValue     = "exactly one of value and valueFrom is needed"
	oneSource    = "exactly one of configMapKeyRef, secretKeyRef and file is needed" // of bodyFrom
	oneBody      = "at most one of body, bodyBase64, bodyFrom and parts is possible"
	ofContent    = "part does not go with header, status"
	onePart      = "" // minProperties and maxProperties, for which the API server has its own message
	placeOfValue = "equals goes with jsonPointer or jsonPath"
	oneStatus    = "must be a status code from 100 to 599, or a class such as 2xx"
	looksAt      = "exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath, request, bodySize, responseTime and jsonSchema is needed"
	comparing    = "exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed"
)

// The requests of the steps of everyChain: 4 has one of each kind of check and capture, 5 a body from a Secret,
// 6 a body from a file, 7 a body in base64, 8 a body in the manifest, 9 parts. Steps 10 and 11 await notifications.

// rulesOfRequests are for templates and for the requests of steps alike.
func rulesOfRequests() []Mutant {
	t := func(i int) string { return fmt.Sprintf("spec.templates[%d]", i) }
	r := func(i int) string { return fmt.Sprintf("%s.steps[%d].request", everyChain, i) }
	return slices.Concat(
		requestRules(t(0), t(7), t(3), t(6)), requestRules(r(8), r(7), r(4), r(6)),
		choice{t(0) + ".headers[0]", "value", "valueFrom", map[string]any{"file": "/value"}, oneValue}.rows(),
		choice{t(2) + ".headers[2].valueFrom", "file", "secretKeyRef", map[string]any{"name": "s", "key": "k"}, ""}.rows(),
		choice{r(4) + ".headers[3]", "value", "valueFrom", map[string]any{"file": "/value"}, oneValue}.rows(),
		choice{r(4) + ".headers[2].valueFrom", "file", "secretKeyRef", map[string]any{"name": "s", "key": "k"}, ""}.rows(),
		statusRules(t(0)), statusRules(r(4)),
		rulesOfChecks(t(3)), rulesOfChecks(r(4)),
		rulesOfCaptures(t(3)), rulesOfCaptures(r(4)),
		rulesOfParts(t(10)), rulesOfParts(r(9)),
		rulesOfCalls(t(11)), rulesOfCalls("spec.chains[9].steps[2].request"),
		rulesOfChecks(everyChain+".steps[10].await"), rulesOfCaptures(everyChain+".steps[10].await"),
	)
}

// requestRules are those of four requests: with body, with bodyBase64, with bodyFrom a ConfigMap, with luaFrom
// a Secret.
func requestRules(body, encoded, from, lua string) []Mutant {
	return slices.Concat(
		[]Mutant{
			tooLong(body+".timeout", "0ms", withinAnHour),
			tooLong(body+".timeout", "61m", withinAnHour),
			{Name: "body and bodyBase64", Path: body, Want: oneBody, Set: map[string]any{body + ".bodyBase64": "AAEC"}},
			{Name: "bodyBase64 and bodyFrom", Path: encoded, Want: oneBody, Set: map[string]any{encoded + ".bodyFrom": map[string]any{"file": "/body"}}},
		},
		choice{from + ".bodyFrom", "configMapKeyRef", "file", "/body", oneSource}.rows(),
		choice{from + ".script", "lua", "luaFrom", map[string]any{"file": "/a.lua"}, "exactly one of lua and luaFrom is needed"}.rows(),
		choice{lua + ".script.luaFrom", "secretKeyRef", "file", "/a.lua", ""}.rows(),
	)
}

func statusRules(request string) []Mutant {
	var out []Mutant
	for _, code := range []int{99, 600} {
		path := request + ".expect.status[0]"
		out = append(out, Mutant{Name: fmt.Sprintf("%s of %d", path, code), Path: path, Want: oneStatus, Set: map[string]any{path: code}})
	}
	return out
}

func rulesOfChecks(request string) []Mutant {
	check := func(i int) string { return fmt.Sprintf("%s.expect.checks[%d]", request, i) }
	return slices.Concat(
		choice{check(0), "header", "status", map[string]any{}, looksAt}.rows(),
		choice{check(10), "bodySize", "responseTime", map[string]any{}, looksAt}.rows(),
		choice{check(3), "contains", "lessThan", "5", comparing}.rows(),
		choice{check(5), "exists", "equals", "", comparing}.rows(),
		choice{check(7) + ".request", "header", "method", map[string]any{}, onePart}.rows(),
		choice{check(13) + ".jsonSchema", "configMapKeyRef", "file", "/schema", ""}.rows(),
		[]Mutant{{
			Name: "a schema and a comparison", Path: check(12), Want: comparing + ", and none with jsonSchema",
			Set: map[string]any{check(12) + ".exists": true},
		}},
	)
}

func rulesOfCaptures(request string) []Mutant {
	capture := func(i int) string { return fmt.Sprintf("%s.capture[%d]", request, i) }
	return slices.Concat(
		choice{capture(0), "header", "body", map[string]any{}, "exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath and request is needed"}.rows(),
		choice{capture(9) + ".request", "jsonPointer", "body", map[string]any{}, onePart}.rows(),
		[]Mutant{{
			Name: "optional with a default", Path: capture(0), Want: "at most one of default and optional is possible",
			Set: map[string]any{capture(0) + ".optional": true},
		}},
	)
}

// rulesOfCalls are those of a call of gRPC.
func rulesOfCalls(request string) []Mutant {
	const one = "at most one of message and messages is possible"
	return []Mutant{{Name: "two kinds of messages", Path: request + ".grpc", Want: one,
		Set: map[string]any{request + ".grpc.messages": []any{map[string]any{}}}}, {
		Name: "deadline above an hour", Path: request + ".grpc.deadline", Want: withinAnHour,
		Set: map[string]any{request + ".grpc.deadline": "61m"},
	}}
}

// rulesOfParts are those of a request with parts.
func rulesOfParts(request string) []Mutant {
	part := func(i int) string { return fmt.Sprintf("%s.parts[%d]", request, i) }
	const oneContent = "at most one of body, bodyHex, bodyBase64 and bodyFrom is possible"
	check, capture := request+".expect.checks[0]", request+".capture[0]"
	return append(choice{part(3) + ".bodyFrom", "file", "configMapKeyRef", map[string]any{"name": "c", "key": "k"}, oneSource}.rows(), []Mutant{
		{Name: "parts and a body", Path: request, Want: oneBody, Set: map[string]any{request + ".body": "x"}},
		{Name: "body and bodyHex", Path: part(0), Want: oneContent, Set: map[string]any{part(0) + ".bodyHex": "00"}},
		{Name: "bodyHex and bodyBase64", Path: part(1), Want: oneContent, Set: map[string]any{part(1) + ".bodyBase64": "AAEC"}},
		{Name: "bodyBase64 and bodyFrom", Path: part(2), Want: oneContent, Set: map[string]any{part(2) + ".bodyFrom": map[string]any{"file": "/x"}}},
		{Name: "a check of the status of a part", Path: check, Want: ofContent, Set: map[string]any{check: map[string]any{"name": "c", "part": "n1msg", "status": map[string]any{}, "exists": true}}},
		{Name: "a check of the time of a part", Path: check, Want: ofContent, Set: map[string]any{check: map[string]any{"name": "c", "part": "n1msg", "responseTime": map[string]any{}, "lessThan": "5ms"}}},
		{Name: "a capture of a header of a part", Path: capture, Want: ofContent, Set: map[string]any{capture: map[string]any{"name": capturedPart(request), "part": "n1msg", "header": "etag"}}},
	}...)
}

// capturedPart is the name of the capture of a request with parts.
func capturedPart(request string) string {
	if request == "spec.templates[10]" {
		return "p_hex"
	}
	return "i_hex"
}
