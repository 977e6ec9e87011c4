package compile

import "strings"

// strictLoadTest is the part of the CRD's schema that Go's types do not show. A test compares it
// with the CRD.
var strictLoadTest = &strictness{
	notZero: withInline(map[string]bool{
		"spec.chains[].phase":                                 true,
		"spec.chains[].steps[].name":                          true,
		"spec.chains[].steps[].onFailure":                     true,
		"spec.chains[].steps[].parallel[].name":               true,
		"spec.chains[].steps[].parallel[].onFailure":          true,
		"spec.chains[].steps[].parallel[].target":             true,
		"spec.chains[].steps[].parallel[].when[].greaterThan": true,
		"spec.chains[].steps[].parallel[].when[].lessThan":    true,
		"spec.chains[].steps[].parallel[].when[].matches":     true,
		"spec.chains[].steps[].repeat.until[].greaterThan":    true,
		"spec.chains[].steps[].repeat.until[].lessThan":       true,
		"spec.chains[].steps[].repeat.until[].matches":        true,
		"spec.chains[].steps[].target":                        true,
		"spec.chains[].steps[].template":                      true,
		"spec.chains[].steps[].when[].greaterThan":            true,
		"spec.chains[].steps[].when[].lessThan":               true,
		"spec.chains[].steps[].when[].matches":                true,
		"spec.chains[].weight":                                true,
		"spec.runner.onShardLost":                             true,
		"spec.runner.shards":                                  true,
		"spec.targets[].auth.bearer.file":                     true,
		"spec.targets[].auth.oauth2.ca.configMapKeyRef.key":   true,
		"spec.targets[].auth.oauth2.ca.file":                  true,
		"spec.targets[].auth.oauth2.ca.secretKeyRef.key":      true,
		"spec.targets[].auth.oauth2.clientSecret.file":        true,
		"spec.targets[].auth.oauth2.secretIn":                 true,
		"spec.targets[].connectTo":                            true,
		"spec.targets[].http1.pipeline":                       true,
		"spec.targets[].maxConcurrentStreams":                 true,
		"spec.targets[].connecting.open":                      true,
		"spec.targets[].protocol":                             true,
		"spec.targets[].tls.ca.configMapKeyRef.key":           true,
		"spec.targets[].tls.ca.file":                          true,
		"spec.targets[].tls.ca.secretKeyRef.key":              true,
		"spec.targets[].tls.maxVersion":                       true,
		"spec.targets[].tls.minVersion":                       true,
		"spec.targets[].tls.serverName":                       true,
		"spec.targets[].url":                                  true,
		"spec.templates[].bodyFrom.encoding":                  true,
		"spec.templates[].bodyFrom.file":                      true,
		"spec.templates[].capture[].header":                   true,
		"spec.templates[].capture[].regex":                    true,
		"spec.templates[].capture[].request.header":           true,
		"spec.templates[].capture[].xpath":                    true,
		"spec.templates[].expect.checks[].greaterThan":        true,
		"spec.templates[].expect.checks[].header":             true,
		"spec.templates[].expect.checks[].jsonSchema.file":    true,
		"spec.templates[].expect.checks[].lessThan":           true,
		"spec.templates[].expect.checks[].matches":            true,
		"spec.templates[].expect.checks[].regex":              true,
		"spec.templates[].expect.checks[].request.header":     true,
		"spec.templates[].expect.checks[].xpath":              true,
		"spec.templates[].extends":                            true,
		"spec.templates[].headers[].valueFrom.file":           true,
		"spec.templates[].method":                             true,
		"spec.templates[].path":                               true,
		"spec.templates[].script.lua":                         true,
		"spec.templates[].script.luaFrom.file":                true,
		"spec.thresholds[].percentile":                        true,
		"spec.variables[].atEnd":                              true,
		"spec.variables[].constant.valueFrom.file":            true,
		"spec.variables[].counter.step":                       true,
		"spec.variables[].csv.delimiter":                      true,
		"spec.variables[].csv.file":                           true,
		"spec.variables[].csv.text":                           true,
		"spec.variables[].order":                              true,
		"spec.variables[].random.choice[].weight":             true,
		"spec.variables[].random.string.alphabet":             true,
		"spec.variables[].range.format":                       true,
		"spec.variables[].range.step":                         true,
		"spec.variables[].scope":                              true,
		"spec.variables[].timestamp.format":                   true,
		"spec.weightBy":                                       true,
	}),
	required: map[string][]string{
		"": {"spec"},
		"spec.chains[].steps[].thinkTime.uniform": {"max", "min"},
		"spec.runner.resources.claims[]":          {"name"},
		"spec.targets[].auth.oauth2.parameters[]": {"value"},
		"spec.variables[].random.choice[]":        {"value"},
		"spec.variables[].random.integer":         {"max"},
	},
	negative: map[string]bool{"spec.variables[].timestamp.offset": true},
}

// withInline adds the fields of templates for the requests that steps have themselves.
func withInline(fields map[string]bool) map[string]bool {
	out := map[string]bool{}
	for path := range fields {
		out[path] = true
		if below, found := strings.CutPrefix(path, "spec.templates[]."); found {
			out["spec.chains[].steps[].request."+below] = true
		}
	}
	return out
}
