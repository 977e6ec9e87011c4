package builder

import "slices"

// The templates of full.yaml: 0 create, 1 read, 2 base, 3 judged, 4 use, 5 from-secret, 6 from-file, 7 binary.
// The checks and captures of template 3 have one source of each kind, in the order of the API.

const (
	oneSource = "exactly one of configMap, secret and file is needed"
	oneBody   = "at most one of body, bodyBase64 and bodyFrom is possible"
	onePart   = "exactly one of method, path, header, body and jsonPointer is needed"
	looksAt   = "exactly one of header, status, body, jsonPointer, xpath, request, bodySize, responseTime and jsonSchema is needed"
	comparing = "exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed"
)

var rulesOfRequests = slices.Concat(
	[]Mutant{
		tooLong("spec.templates[0].timeout", "0ms", withinAnHour),
		tooLong("spec.templates[0].timeout", "61m", withinAnHour),
		{
			Name: "body and bodyBase64", Path: "spec.templates[0]", Want: oneBody,
			Set: map[string]any{"spec.templates[0].bodyBase64": "AAEC"},
		},
		{
			Name: "bodyBase64 and bodyFrom", Path: "spec.templates[7]", Want: oneBody,
			Set: map[string]any{"spec.templates[7].bodyFrom": map[string]any{"file": "/body"}},
		},
	},
	choice{"spec.templates[0].headers[0]", "value", "valueFrom", map[string]any{"file": "/value"}, "exactly one of value and valueFrom is needed"}.rows(),
	choice{"spec.templates[2].headers[2].valueFrom", "file", "secret", map[string]any{"name": "s", "key": "k"}, oneSource}.rows(),
	choice{"spec.templates[3].bodyFrom", "configMap", "file", "/body", oneSource}.rows(),
	choice{"spec.templates[3].script", "lua", "luaFrom", map[string]any{"file": "/a.lua"}, "exactly one of lua and luaFrom is needed"}.rows(),
	choice{"spec.templates[6].script.luaFrom", "secret", "file", "/a.lua", oneSource}.rows(),
)

var rulesOfChecks = slices.Concat(
	choice{"spec.templates[3].expect.checks[0]", "header", "status", true, looksAt}.rows(),
	choice{"spec.templates[3].expect.checks[10]", "bodySize", "responseTime", true, looksAt}.rows(),
	choice{"spec.templates[3].expect.checks[3]", "contains", "lessThan", "5", comparing}.rows(),
	choice{"spec.templates[3].expect.checks[5]", "exists", "equals", "", comparing}.rows(),
	choice{"spec.templates[3].expect.checks[7].request", "header", "method", true, onePart}.rows(),
	choice{"spec.templates[3].expect.checks[13].jsonSchema", "configMap", "file", "/schema", "exactly one of inline, configMap and file is needed"}.rows(),
	[]Mutant{{
		Name: "a schema and a comparison", Path: "spec.templates[3].expect.checks[12]", Want: comparing + ", and none with jsonSchema",
		Set: map[string]any{"spec.templates[3].expect.checks[12].exists": true},
	}},
)

var rulesOfCaptures = slices.Concat(
	choice{"spec.templates[0].capture[0]", "header", "body", true, "exactly one of header, status, body, jsonPointer, xpath and request is needed"}.rows(),
	choice{"spec.templates[3].capture[9].request", "jsonPointer", "body", true, onePart}.rows(),
	[]Mutant{{
		Name: "optional with a default", Path: "spec.templates[3].capture[0]", Want: "at most one of default and optional is possible",
		Set: map[string]any{"spec.templates[3].capture[0].optional": true},
	}},
)
