package builder

import "slices"

// The chain that has every field of a chain is spec.chains[6] of full.yaml: step 1 is one request, step 3 several
// at the same time, steps 4 to 8 have requests of their own. spec.chains[7] is a setup chain.
const everyChain = "spec.chains[6]"

// ownRates are stages of a chain's own.
var ownRates = []any{map[string]any{"name": "alone", "requestsPerSecond": 1, "duration": "1s"}}

const oneKind = "exactly one of request, template, parallel and await is needed"

func rulesOfChains() []Mutant {
	oneAt, together := everyChain+".steps[1]", everyChain+".steps[3]"
	alone := "cannot be used with parallel; allowed: thinkTime, when, always"
	out := []Mutant{
		{
			Name: "maxInFlight of a setup chain", Path: "spec.chains[7]", Want: "maxInFlight and startDelay go with phase Load",
			Set: map[string]any{"spec.chains[7].maxInFlight": 2},
		},
		{
			Name: "startDelay of a teardown chain", Path: "spec.chains[8]", Want: "maxInFlight and startDelay go with phase Load",
			Set: map[string]any{"spec.chains[8].startDelay": "1s"},
		},
		{
			Name: "rates of a setup chain", Path: "spec.chains[7]", Want: "rates and startAfter go with phase Load",
			Set: map[string]any{"spec.chains[7].rates": ownRates},
		},
		{
			Name: "startAfter without rates", Path: "spec.chains[1].startAfter", Want: "startAfter needs rates",
			Unset: []string{"spec.chains[1].rates"},
		},
		{
			Name: "startDelay with rates", Path: "spec.chains[1].startDelay", Want: "startDelay is not allowed with rates; use startAfter",
			Set: map[string]any{"spec.chains[1].startDelay": "1s"},
		},
		{
			Name: "weight with rates", Path: "spec.chains[1].weight", Want: "weight is not allowed with rates, because the chain is not in the weighted mix",
			Set: map[string]any{"spec.chains[1].weight": 2},
		},
		{
			Name: "closedLoop in rates of a chain", Path: "spec.chains[1].rates", Want: "closedLoop is not allowed in rates of a chain; use a rate, and maxInFlight to bound its instances",
			Set: map[string]any{"spec.chains[1].rates": []any{map[string]any{"name": "own", "closedLoop": map[string]any{}, "duration": "1s"}}},
		},
		{
			Name: "late warm-up of a chain", Path: "spec.chains[1].rates[2].warmUp", Want: "warm-up stages must come before all others",
			Set: map[string]any{"spec.chains[1].rates[2].warmUp": true},
		},
		{
			Name: "nothing measured of a chain", Path: "spec.chains[1].rates", Want: "at least one stage must not be a warm-up",
			Set: map[string]any{"spec.chains[1].rates[1].warmUp": true, "spec.chains[1].rates[2].warmUp": true},
		},
		{
			Name: "no rates", Path: "spec.rates", Want: "at least 1 is needed, unless each chain of phase Load has rates of its own",
			Unset: []string{"spec.rates"},
		},
		{
			Name: "rates that no chain uses", Path: "spec.rates", Want: "no chain uses them, because each chain of phase Load has rates of its own",
			Set: map[string]any{"spec.chains": []any{map[string]any{"name": "alone", "target": "single", "steps": []any{map[string]any{"template": "create"}}, "rates": ownRates}}},
		},
		{
			Name: "a step after an always step", Path: "spec.chains[0].steps", Want: "a step after one with always: true needs always: true",
			Set: map[string]any{"spec.chains[0].steps[0].always": true},
		},
		{
			Name: "uniform the wrong way round", Path: oneAt + ".thinkTime.uniform", Want: "max must not be below min",
			Set: map[string]any{oneAt + ".thinkTime.uniform.min": "3ms"},
		},
		tooLong(everyChain+".startDelay", "24h1s", "must be at most 24h, and not negative"),
		tooLong(everyChain+".steps[0].thinkTime.fixed", "61m", upToAnHour),
		tooLong(oneAt+".thinkTime.uniform.min", "61m", upToAnHour),
		tooLong(oneAt+".thinkTime.uniform.max", "61m", upToAnHour),
		tooLong(everyChain+".steps[2].thinkTime.exponential.mean", "61m", withinAnHour),
		tooLong(everyChain+".steps[2].thinkTime.exponential.mean", "0s", withinAnHour),
		tooLong(everyChain+".steps[2].thinkTime.exponential.max", "61m", withinAnHour),
		tooLong(oneAt+".retry.backoff", "61m", upToAnHour),
		tooLong(oneAt+".retry.maxBackoff", "61m", upToAnHour),
		tooLong(together+".parallel[2].retry.backoff", "61m", upToAnHour),
		tooLong(together+".parallel[2].retry.maxBackoff", "61m", upToAnHour),
	}
	for name, value := range map[string]any{
		"name": "together", "target": "single", "repeat": map[string]any{"count": 2}, "retry": map[string]any{"attempts": 1},
		"onFailure": "Continue", "clearCookies": true,
	} {
		out = append(out, Mutant{Name: "parallel with " + name, Path: together, Want: alone, Set: map[string]any{together + "." + name: value}})
	}
	own := everyChain + ".steps[7]"
	out = append(out, Mutant{Name: "a request without a name", Path: own, Want: "a step with a request or await needs a name", Unset: []string{own + ".name"}})
	return slices.Concat(out, rulesOfAwait(),
		choice{together, "parallel", "template", "read", oneKind}.rows(),
		choice{own, "request", "template", "read", oneKind}.rows(),
		choice{everyChain + ".steps[0].thinkTime", "fixed", "exponential", map[string]any{"mean": "1ms"}, ""}.rows())
}

// rulesOfAwait are of steps that wait for a notification, and of listeners.
func rulesOfAwait() []Mutant {
	byPath, byValue := everyChain+".steps[10]", everyChain+".steps[11]"
	out := []Mutant{
		{Name: "a wait without a name", Path: byPath, Want: "a step with a request or await needs a name", Unset: []string{byPath + ".name"}},
		{
			Name: "nothing to match", Path: byPath + ".await.match", Want: "path, jsonPointer or jsonPath is needed",
			Unset: []string{byPath + ".await.match.path"},
		},
		{Name: "jsonPointer without equals", Path: byValue + ".await.match", Want: placeOfValue, Unset: []string{byValue + ".await.match.equals"}},
		{Name: "jsonPointer and jsonPath", Path: byValue + ".await.match", Want: "at most one of jsonPointer and jsonPath is possible", Set: map[string]any{byValue + ".await.match.jsonPath": "$.id"}},
		tooLong(byPath+".await.timeout", "0ms", withinAnHour),
		tooLong(byPath+".await.timeout", "61m", withinAnHour),
		tooLong("spec.listeners[0].retention", "0ms", withinAnHour),
		tooLong("spec.listeners[0].retention", "61m", withinAnHour),
		{
			Name: "clientNames without clientCAFrom", Path: "spec.listeners[0].tls.clientNames", Want: "clientNames need clientCAFrom",
			Unset: []string{"spec.listeners[0].tls.clientCAFrom"},
		},
		{Name: "rulesFrom without a source", Path: "spec.listeners[1].rulesFrom", Unset: []string{"spec.listeners[1].rulesFrom.configMapKeyRef"}},
		{
			Name: "rulesFrom two sources", Path: "spec.listeners[1].rulesFrom",
			Set: map[string]any{"spec.listeners[1].rulesFrom.file": "/rules.yaml"},
		},
	}
	for name, value := range map[string]any{"target": "single", "repeat": map[string]any{"count": 2}, "retry": map[string]any{"attempts": 1}, "clearCookies": true} {
		out = append(out, Mutant{
			Name: "await with " + name, Path: byPath, Want: "cannot be used with await; allowed: thinkTime, when, onFailure, always", Set: map[string]any{byPath + "." + name: value},
		})
	}
	return out
}

// rulesOfChainStages are of the stages of a chain.
func rulesOfChainStages() []Mutant {
	return []Mutant{
		{
			Name: "two modes of a chain's stage", Path: "spec.chains[1].rates[1]", Want: "exactly one of requestsPerSecond, requestsPer, chainsPerSecond and closedLoop is needed",
			Set: map[string]any{"spec.chains[1].rates[1].chainsPerSecond": 1},
		},
		{
			Name: "no bound of a chain's stage", Path: "spec.chains[1].rates[2]", Want: "duration, requests or both are needed",
			Unset: []string{"spec.chains[1].rates[2].duration"},
		},
		{
			Name: "requests with chainsPerSecond of a chain", Path: "spec.chains[1].rates[2].requests", Want: "requests is not allowed with chainsPerSecond; set duration",
			Set: map[string]any{"spec.chains[1].rates[2].requests": 5},
		},
		tooLong("spec.chains[1].startAfter", "721h", "must be at most 720h, and not negative"),
		{
			Name: "rampFrom without duration of a chain", Path: "spec.chains[1].rates[1].rampFrom", Want: "rampFrom needs duration",
			Set: map[string]any{"spec.chains[1].rates[1].rampFrom": int64(1)}, Unset: []string{"spec.chains[1].rates[1].duration"},
		},
		{
			Name: "rampFrom of every stream of a chain", Path: "spec.chains[1].rates[0].rampFrom", Want: "rampFrom with closedLoop needs concurrency",
			Set: map[string]any{"spec.chains[1].rates": []any{map[string]any{"name": "own", "closedLoop": map[string]any{}, "duration": "1s", "rampFrom": int64(1)}}},
		},
		{
			Name: "pause without duration of a chain", Path: "spec.chains[1].rates[1]", Want: "a rate of 0 needs duration",
			Set: map[string]any{"spec.chains[1].rates[1].requestsPerSecond": int64(0)}, Unset: []string{"spec.chains[1].rates[1].duration"},
		},
		{
			Name: "arrivals with closedLoop of a chain", Path: "spec.chains[1].rates[0].arrivals", Want: "arrivals is not allowed with closedLoop",
			Set: map[string]any{"spec.chains[1].rates": []any{map[string]any{"name": "own", "closedLoop": map[string]any{}, "duration": "1s", "arrivals": "Poisson"}}},
		},
		{
			Name: "bursts without size of a chain", Path: "spec.chains[1].rates[1].burstSize", Want: "burstSize is needed with arrivals Burst, and not allowed without it",
			Unset: []string{"spec.chains[1].rates[1].burstSize"},
		},
		tooLong("spec.chains[1].rates[1].duration", "721h", "must be greater than 0 and at most 720h"),
		tooLong("spec.chains[1].rates[0].requestsPer.period", "25h", "must be at least 1s and at most 24h"),
	}
}

// rulesOfConditions are of steps and of repeat. That of parallel would cost more than CEL may: the compiler alone
// has it.
func rulesOfConditions() []Mutant {
	var out []Mutant
	for _, path := range []string{everyChain + ".steps[2].when[0]", everyChain + ".steps[1].repeat.until[0]"} {
		out = append(out, choice{path, "equals", "exists", true, comparing}.rows()...)
	}
	return out
}
