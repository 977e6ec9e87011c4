package builder

import (
	"slices"
	"strings"
)

// Rules has at least one row for each CEL rule of the API that looks at one version of an object.
// Transition rules need two.
func Rules() []Mutant {
	return slices.Concat(
		rulesOfTargets, rulesOfTLS, rulesOfConnections, rulesOfAuth(), rulesOfVariables, rulesOfSequences, rulesOfRequests(),
		rulesOfChains(), rulesOfChainStages(), rulesOfConditions(), rulesOfRates, rulesOfThresholds, rulesOfObservations,
		rulesOfRunner,
	)
}

var rulesOfTargets = []Mutant{
	{
		Name: "long name", Path: "metadata.name", Want: "must have at most 50 characters",
		Set: map[string]any{"metadata.name": "a23456789-b23456789-c23456789-d23456789-e23456789-f"},
	},
	{
		Name: "dotted name", Path: "metadata.name", Want: "must be lower-case letters, digits and -",
		Set: map[string]any{"metadata.name": "load.test"},
	},
	{
		Name: "fewer connections than shards", Path: "spec.targets[1].connections", Want: "must be at least runner.shards, one for each shard",
		Set: map[string]any{"spec.runner.shards": 3},
	},
	{
		Name: "url and urls", Path: "spec.targets[0]", Want: "exactly one of url and urls is needed",
		Set: map[string]any{"spec.targets[0].urls": []string{"http://c.example"}},
	},
	{
		Name: "neither url nor urls", Path: "spec.targets[0]", Want: "exactly one of url and urls is needed",
		Unset: []string{"spec.targets[0].url"},
	},
	{
		Name: "connectTimeout of zero", Path: "spec.targets[0].connectTimeout", Want: "must be greater than 0 and at most 1h",
		Set: map[string]any{"spec.targets[0].connectTimeout": "0s"},
	},
	{
		Name: "connectTimeout above an hour", Path: "spec.targets[0].connectTimeout", Want: "must be greater than 0 and at most 1h",
		Set: map[string]any{"spec.targets[0].connectTimeout": "1h1ns"},
	},
}

var rulesOfRates = []Mutant{
	{
		Name: "two modes", Path: "spec.rates[1]", Want: "exactly one of requestsPerSecond, requestsPer, chainsPerSecond and closedLoop is needed",
		Set: map[string]any{"spec.rates[1].closedLoop": map[string]any{}},
	},
	{
		Name: "no mode", Path: "spec.rates[1]", Want: "exactly one of requestsPerSecond, requestsPer, chainsPerSecond and closedLoop is needed",
		Unset: []string{"spec.rates[1].requestsPerSecond"},
	},
	{
		Name: "requests with chainsPerSecond", Path: "spec.rates[2].requests", Want: "requests is not allowed with chainsPerSecond; set duration",
		Set: map[string]any{"spec.rates[2].chainsPerSecond": int64(5)}, Unset: []string{"spec.rates[2].closedLoop"},
	},
	{
		Name: "gracefulStop above an hour", Path: "spec.gracefulStop", Want: "must be at most 1h, and not negative",
		Set: map[string]any{"spec.gracefulStop": "61m"},
	},
	{
		Name: "rampFrom without duration", Path: "spec.rates[2].rampFrom", Want: "rampFrom needs duration",
		Set: map[string]any{"spec.rates[2].requestsPerSecond": int64(5), "spec.rates[2].rampFrom": int64(1)}, Unset: []string{"spec.rates[2].closedLoop"},
	},
	{
		Name: "rampFrom of every stream", Path: "spec.rates[2].rampFrom", Want: "rampFrom with closedLoop needs concurrency",
		Set: map[string]any{"spec.rates[2].rampFrom": int64(1)},
	},
	{
		Name: "pause without duration", Path: "spec.rates[2]", Want: "a rate of 0 needs duration",
		Set: map[string]any{"spec.rates[2].requestsPerSecond": int64(0)}, Unset: []string{"spec.rates[2].closedLoop"},
	},
	{
		Name: "arrivals with closedLoop", Path: "spec.rates[2].arrivals", Want: "arrivals is not allowed with closedLoop",
		Set: map[string]any{"spec.rates[2].arrivals": "Poisson"},
	},
	{
		Name: "bursts without size", Path: "spec.rates[1].burstSize", Want: "burstSize is needed with arrivals Burst, and not allowed without it",
		Unset: []string{"spec.rates[1].burstSize"},
	},
	{
		Name: "burstSize without bursts", Path: "spec.rates[1].burstSize", Want: "burstSize is needed with arrivals Burst, and not allowed without it",
		Set: map[string]any{"spec.rates[1].arrivals": "Even"},
	},
	{
		Name: "no bound", Path: "spec.rates[2]", Want: "duration, requests or both are needed",
		Unset: []string{"spec.rates[2].requests"},
	},
	{
		Name: "duration of zero", Path: "spec.rates[0].duration", Want: "must be greater than 0 and at most 720h",
		Set: map[string]any{"spec.rates[0].duration": "0s"},
	},
	{
		Name: "duration of years", Path: "spec.rates[0].duration", Want: "must be greater than 0 and at most 720h",
		Set: map[string]any{"spec.rates[0].duration": "9000h"},
	},
	{
		Name: "short period", Path: "spec.rates[0].requestsPer.period", Want: "must be at least 1s and at most 24h",
		Set: map[string]any{"spec.rates[0].requestsPer.period": "999ms"},
	},
	{
		Name: "long period", Path: "spec.rates[0].requestsPer.period", Want: "must be at least 1s and at most 24h",
		Set: map[string]any{"spec.rates[0].requestsPer.period": "24h1s"},
	},
	{
		Name: "late warm-up", Path: "spec.rates[1].warmUp", Want: "warm-up stages must come before all others",
		Unset: []string{"spec.rates[0].warmUp"}, Set: map[string]any{"spec.rates[1].warmUp": true},
	},
	{
		Name: "nothing measured", Path: "spec.rates", Want: "at least one stage must not be a warm-up",
		Set: map[string]any{"spec.rates[1].warmUp": true, "spec.rates[2].warmUp": true, "spec.rates[3].warmUp": true, "spec.rates[4].warmUp": true},
	},
	{
		Name: "measured stages with search", Path: "spec.rates", Want: "all stages must be warm-up stages, because search chooses the rates after them",
		Set: map[string]any{"spec.search": map[string]any{}},
	},
	{
		Name: "a search that starts below its minimum", Path: "spec.search.start", Want: "start must be at least min",
		Set: map[string]any{"spec.rates": []any{}, "spec.search": map[string]any{"start": int64(5), "min": int64(10)}},
	},
	{
		Name: "a search that starts above its maximum", Path: "spec.search.start", Want: "start must be at most max",
		Set: map[string]any{"spec.rates": []any{}, "spec.search": map[string]any{"start": int64(50), "max": int64(10)}},
	},
	{
		Name: "a search whose maximum is below its minimum", Path: "spec.search.max", Want: "max must be at least min",
		Set: map[string]any{"spec.rates": []any{}, "spec.search": map[string]any{"max": int64(5), "min": int64(10)}},
	},
	{
		Name: "a search that is too precise", Path: "spec.search.precision", Want: "must be at least 0.1%",
		Set: map[string]any{"spec.rates": []any{}, "spec.search": map[string]any{"precision": "0.05%"}},
	},
	{
		Name: "short probes", Path: "spec.search.probeDuration", Want: "must be between 1s and 1h",
		Set: map[string]any{"spec.rates": []any{}, "spec.search": map[string]any{"probeDuration": "999ms"}},
	},
	{
		Name: "a long time to settle", Path: "spec.search.settleDuration", Want: "must be at most 1h",
		Set: map[string]any{"spec.rates": []any{}, "spec.search": map[string]any{"settleDuration": "61m"}},
	},
}

// aBaseline is a baseline that exists in no cluster: the API server only looks at its fields.
var aBaseline = map[string]any{"report": map[string]any{"configMapRef": map[string]any{"name": "kept"}}}

var rulesOfThresholds = []Mutant{
	{
		Name: "max and min", Path: "spec.thresholds[0]", Want: "exactly one of max, min and maxIncrease is needed",
		Set: map[string]any{"spec.thresholds[0].min": "1ms"},
	},
	{
		Name: "neither max nor min", Path: "spec.thresholds[0]", Want: "exactly one of max, min and maxIncrease is needed",
		Unset: []string{"spec.thresholds[0].max"},
	},
	{
		Name: "max and maxIncrease", Path: "spec.thresholds[0]", Want: "exactly one of max, min and maxIncrease is needed",
		Set: map[string]any{"spec.thresholds[0].maxIncrease": "10%", "spec.thresholds[0].baseline": aBaseline},
	},
	{
		Name: "maxIncrease without baseline", Path: "spec.thresholds[0]", Want: "baseline and maxIncrease are allowed together only",
		Set: map[string]any{"spec.thresholds[0].maxIncrease": "10%"}, Unset: []string{"spec.thresholds[0].max"},
	},
	{
		Name: "baseline without maxIncrease", Path: "spec.thresholds[0]", Want: "baseline and maxIncrease are allowed together only",
		Set: map[string]any{"spec.thresholds[0].baseline": aBaseline},
	},
	{
		Name: "baseline of another metric", Path: "spec.thresholds[0]", Want: "baseline is allowed with ResponseTime, ErrorRate, Rate, ChainsAborted, NotificationTime and NotificationErrorRate only",
		Set:   map[string]any{"spec.thresholds[0].metric": "ServiceTime", "spec.thresholds[0].maxIncrease": "10%", "spec.thresholds[0].baseline": aBaseline},
		Unset: []string{"spec.thresholds[0].max"},
	},
	{
		Name: "baseline of a chain", Path: "spec.thresholds[0]", Want: "target, chain, statusClass, stage, window, abortOnFail, and step with Rate are not allowed with baseline",
		Set:   map[string]any{"spec.thresholds[0].chain": "other", "spec.thresholds[0].maxIncrease": "10%", "spec.thresholds[0].baseline": aBaseline},
		Unset: []string{"spec.thresholds[0].max"},
	},
	{
		Name: "baseline that ends the test", Path: "spec.thresholds[0]", Want: "abortOnFail, and step with Rate are not allowed with baseline",
		Set:   map[string]any{"spec.thresholds[0].abortOnFail": true, "spec.thresholds[0].maxIncrease": "10%", "spec.thresholds[0].baseline": aBaseline},
		Unset: []string{"spec.thresholds[0].max"},
	},
	{
		Name: "baseline of the rate of a step", Path: "spec.thresholds[1]", Want: "step with Rate are not allowed with baseline",
		Set:   map[string]any{"spec.thresholds[1].step": "session/create", "spec.thresholds[1].maxIncrease": "10%", "spec.thresholds[1].baseline": aBaseline},
		Unset: []string{"spec.thresholds[1].min"},
	},
	{
		Name: "baseline of another percentile", Path: "spec.thresholds[0]", Want: "percentile with baseline must be p50, p90 or p99, or for ResponseTime of the whole run p95 or p99.9",
		Set:   map[string]any{"spec.thresholds[0].percentile": "p75", "spec.thresholds[0].maxIncrease": "10%", "spec.thresholds[0].baseline": aBaseline},
		Unset: []string{"spec.thresholds[0].max"},
	},
	{
		Name: "baseline of another percentile of a step", Path: "spec.thresholds[0]", Want: "percentile with baseline must be p50, p90 or p99, or for ResponseTime of the whole run p95 or p99.9",
		Set:   map[string]any{"spec.thresholds[0].percentile": "p95", "spec.thresholds[0].step": "session/create", "spec.thresholds[0].maxIncrease": "10%", "spec.thresholds[0].baseline": aBaseline},
		Unset: []string{"spec.thresholds[0].max"},
	},
	{
		Name: "baseline of all listeners", Path: "spec.thresholds[6]", Want: "baseline needs listener with NotificationTime and NotificationErrorRate",
		Set:   map[string]any{"spec.thresholds[6].maxIncrease": "10%", "spec.thresholds[6].baseline": aBaseline},
		Unset: []string{"spec.thresholds[6].max", "spec.thresholds[6].listener"},
	},
	{
		Name: "a time without a percentile", Path: "spec.thresholds[0]", Want: "percentile is needed with times such as ResponseTime and Connect, and is not allowed with other metrics",
		Unset: []string{"spec.thresholds[0].percentile"},
	},
	{
		Name: "a rate with a percentile", Path: "spec.thresholds[1]", Want: "percentile is needed with times such as ResponseTime and Connect, and is not allowed with other metrics",
		Set: map[string]any{"spec.thresholds[1].percentile": "p50"},
	},
	{
		Name: "a time without a unit", Path: "spec.thresholds[0].max", Want: "max and min of a time must be a duration such as 20ms",
		Set: map[string]any{"spec.thresholds[0].max": 20},
	},
	{
		Name: "a time as a quoted number", Path: "spec.thresholds[0].max", Want: "max and min of a time must be a duration such as 20ms",
		Set: map[string]any{"spec.thresholds[0].max": "20"},
	},
	{
		Name: "a time as a percentage", Path: "spec.thresholds[0].max", Want: "max and min of a time must be a duration such as 20ms",
		Set: map[string]any{"spec.thresholds[0].max": "20%"},
	},
	{
		Name: "a rate with a unit", Path: "spec.thresholds[1].min", Want: "max and min of Rate and Observed must be a number such as 1000",
		Set: map[string]any{"spec.thresholds[1].min": "90s"},
	},
	{
		Name: "a rate as a percentage", Path: "spec.thresholds[1].min", Want: "max and min of Rate and Observed must be a number such as 1000",
		Set: map[string]any{"spec.thresholds[1].min": "90%"},
	},
	{
		Name: "a negative rate", Path: "spec.thresholds[1].min", Want: "max and min of Rate and Observed must be a number such as 1000",
		Set: map[string]any{"spec.thresholds[1].min": -1},
	},
	{
		Name: "a rate beyond 32 bits", Path: "spec.thresholds[1].min", // the command line refuses the type
		Set: map[string]any{"spec.thresholds[1].min": int64(1) << 31},
	},
	{
		Name: "errors as a ratio", Path: "spec.thresholds[2].max", Want: "max and min of an error rate must be a percentage such as 0.1%",
		Set: map[string]any{"spec.thresholds[2].max": "0.01"},
	},
	{
		Name: "errors as a number", Path: "spec.thresholds[2].max", Want: "max and min of an error rate must be a percentage such as 0.1%",
		Set: map[string]any{"spec.thresholds[2].max": 0},
	},
	{
		Name: "errors as a time", Path: "spec.thresholds[2].max", Want: "max and min of an error rate must be a percentage such as 0.1%",
		Set: map[string]any{"spec.thresholds[2].max": "1s"},
	},
	{
		Name: "a count with a unit", Path: "spec.thresholds[2].max", Want: "max and min of a count must be a number such as 10, a percentage such as 0.1%, or a rate such as 5/s",
		Set: map[string]any{"spec.thresholds[2].metric": "TimedOut", "spec.thresholds[2].max": "5m"},
	},
	{
		Name: "target and chain", Path: "spec.thresholds[0]", Want: "at most one of target, chain and step is allowed",
		Set: map[string]any{"spec.thresholds[0].target": "single", "spec.thresholds[0].chain": "other"},
	},
	{
		Name: "stage and window", Path: "spec.thresholds[0]", Want: "at most one of stage and window is allowed",
		Set: map[string]any{"spec.thresholds[0].stage": "steady", "spec.thresholds[0].window": "30s"},
	},
	{
		Name: "lag of a target", Path: "spec.thresholds[0]", Want: "target is not allowed with Observed, Lag, Dropped, Retried, Reconnects, ChainsCompleted and ChainsAborted",
		Set: map[string]any{"spec.thresholds[0].metric": "Lag", "spec.thresholds[0].target": "single"},
	},
	{
		Name: "a time of connections of a chain", Path: "spec.thresholds[0]", Want: "chain and step are not allowed with Observed, Lag, Dropped, Retried, Reconnects, ChainsCompleted, ChainsAborted, and the times that only targets have",
		Set: map[string]any{"spec.thresholds[0].metric": "TLSHandshake", "spec.thresholds[0].chain": "other"},
	},
	{
		Name: "lag of a stage", Path: "spec.thresholds[0]", Want: "stage is not allowed with Lag, Retried, Reconnects, ChainsCompleted, ChainsAborted, and the times that only targets have",
		Set: map[string]any{"spec.thresholds[0].metric": "Lag", "spec.thresholds[0].stage": "steady"},
	},
	{
		Name: "errors of a status class", Path: "spec.thresholds[2]", Want: "statusClass is allowed with ResponseTime, ServiceTime, TimeToFirstByte and Responses only",
		Set: map[string]any{"spec.thresholds[2].statusClass": "5xx"},
	},
	{
		Name: "requests of a listener", Path: "spec.thresholds[0]", Want: "listener is allowed with NotificationTime, NotificationErrorRate and counts of notifications only",
		Set: map[string]any{"spec.thresholds[0].listener": "events"},
	},
	{
		Name: "notifications of a target", Path: "spec.thresholds[6]", Want: "target, chain, step and stage are not allowed with figures of notifications; use listener",
		Set: map[string]any{"spec.thresholds[6].target": "single"},
	},
	{
		Name: "notifications of a stage", Path: "spec.thresholds[6]", Want: "target, chain, step and stage are not allowed with figures of notifications; use listener",
		Set: map[string]any{"spec.thresholds[6].stage": "steady"},
	},
	{
		Name: "errors of notifications as a number", Path: "spec.thresholds[6].max", Want: "max and min of an error rate must be a percentage such as 0.1%",
		Set:   map[string]any{"spec.thresholds[6].metric": "NotificationErrorRate", "spec.thresholds[6].max": 1},
		Unset: []string{"spec.thresholds[6].percentile"},
	},
	{
		Name: "a time of notifications without a percentile", Path: "spec.thresholds[6]", Want: "percentile is needed with times such as ResponseTime and Connect, and is not allowed with other metrics",
		Unset: []string{"spec.thresholds[6].percentile"},
	},
	{
		Name: "another status class", Path: "spec.thresholds[0].statusClass",
		Set: map[string]any{"spec.thresholds[0].statusClass": "6xx"},
	},
	{
		Name: "a step without a chain", Path: "spec.thresholds[0].step",
		Set: map[string]any{"spec.thresholds[0].step": "create"},
	},
	{
		Name: "a window of nothing", Path: "spec.thresholds[0].window", Want: "must be from 1s to 24h",
		Set: map[string]any{"spec.thresholds[0].window": "0s"},
	},
	{
		Name: "a time without an end to abort", Path: "spec.thresholds[0]", Want: "abortAfter needs abortOnFail: true",
		Set: map[string]any{"spec.thresholds[0].abortAfter": "5s"},
	},
	{
		Name: "abortAfter of two days", Path: "spec.thresholds[0].abortAfter", Want: "must be from 0s to 24h",
		Set: map[string]any{"spec.thresholds[0].abortOnFail": true, "spec.thresholds[0].abortAfter": "48h"},
	},
}

// choice is a place of full.yaml where exactly one of several fields is there.
type choice struct {
	path string
	// has is the field that is there, other one that may be in its stead.
	has, other string
	value      any // of other
	want       string
}

// rows are a mutant with two of the fields and one with none.
func (c choice) rows() []Mutant {
	what := strings.TrimPrefix(c.path, "spec.")
	return []Mutant{
		{Name: "two of " + what, Path: c.path, Want: c.want, Set: map[string]any{c.path + "." + c.other: c.value}},
		{Name: "none of " + what, Path: c.path, Want: c.want, Unset: []string{c.path + "." + c.has}},
	}
}

// tooLong is a mutant with a duration above its bound; no other bound is in its way.
func tooLong(path, value, want string) Mutant {
	return Mutant{Name: strings.TrimPrefix(path, "spec.") + " of " + value, Path: path, Want: want, Set: map[string]any{path: value}}
}

const (
	upToAnHour   = "must be at most 1h, and not negative"
	withinAnHour = "must be greater than 0 and at most 1h"
)

var rulesOfObservations = []Mutant{
	{
		Name: "Observed without observation", Path: "spec.thresholds[1]", Want: "observation and metric Observed go together",
		Set: map[string]any{"spec.thresholds[1].metric": "Observed"},
	},
	{
		Name: "observation of another metric", Path: "spec.thresholds[1]", Want: "observation and metric Observed go together",
		Set: map[string]any{"spec.thresholds[1].observation": "cpu"},
	},
	{
		Name: "perUnit of another metric", Path: "spec.thresholds[1]", Want: "perUnit is allowed with Observed only",
		Set: map[string]any{"spec.thresholds[1].perUnit": true},
	},
	{
		Name: "prometheus and scrape", Path: "spec.observe[0]", Want: "exactly one of prometheus and scrape is needed",
		Set: map[string]any{"spec.observe[0].scrape": map[string]any{"target": "single", "metric": "up"}},
	},
	{
		Name: "neither prometheus nor scrape", Path: "spec.observe[2]", Want: "exactly one of prometheus and scrape is needed",
		Unset: []string{"spec.observe[2].scrape"},
	},
	{
		Name: "target and url", Path: "spec.observe[0].prometheus", Want: "exactly one of target and url is needed",
		Set: map[string]any{"spec.observe[0].prometheus.target": "single"},
	},
	{
		Name: "neither target nor url", Path: "spec.observe[1].prometheus", Want: "exactly one of target and url is needed",
		Unset: []string{"spec.observe[1].prometheus.target"},
	},
	{
		Name: "an interval below a second", Path: "spec.observe[0].prometheus.interval", Want: "must be from 1s to 1h",
		Set: map[string]any{"spec.observe[0].prometheus.interval": "999ms"},
	},
}

var rulesOfRunner = []Mutant{
	{
		Name: "more at least than at all", Path: "spec.runner.minShards", Want: "minShards must be at most runner.shards",
		Set: map[string]any{"spec.runner.minShards": 3},
	},
	{
		Name: "fewer for divided requests", Path: "spec.runner.minShards", Want: "minShards below runner.shards cannot be used with a stage that is a closedLoop that ends by requests",
		Set: map[string]any{"spec.runner.minShards": 1},
	},
	{
		Name: "divided requests rebalanced", Path: "spec.runner.onShardLost", Want: "Rebalance cannot be used with a stage that is a closedLoop that ends by requests",
		Set: map[string]any{"spec.runner.onShardLost": "Rebalance"},
	},
	{
		Name: "cpu in resources beside cpusPerShard", Path: "spec.runner.resources", Want: "resources must not set cpu when cpusPerShard is set",
		Set: map[string]any{"spec.runner.resources": map[string]any{"requests": map[string]any{"cpu": "100m"}}},
	},
	{
		Name: "cpu limit in resources beside cpusPerShard", Path: "spec.runner.resources", Want: "resources must not set cpu when cpusPerShard is set",
		Set: map[string]any{"spec.runner.resources": map[string]any{"limits": map[string]any{"cpu": "1"}}},
	},
	{
		Name: "short startTimeout", Path: "spec.runner.startTimeout", Want: "must be from 1s to 24h",
		Set: map[string]any{"spec.runner.startTimeout": "999ms"},
	},
	{
		Name: "long startTimeout", Path: "spec.runner.startTimeout", Want: "must be from 1s to 24h",
		Set: map[string]any{"spec.runner.startTimeout": "24h1s"},
	},
	{
		Name: "short leaseDuration", Path: "spec.runner.leaseDuration", Want: "must be from 10s to 1h",
		Set: map[string]any{"spec.runner.leaseDuration": "9s"},
	},
	{
		Name: "long leaseDuration", Path: "spec.runner.leaseDuration", Want: "must be from 10s to 1h",
		Set: map[string]any{"spec.runner.leaseDuration": "1h1s"},
	},
	{
		Name: "short resultRetention", Path: "spec.runner.resultRetention", Want: "must be from 10s to 24h",
		Set: map[string]any{"spec.runner.resultRetention": "9s"},
	},
	{
		Name: "short sleepInterval", Path: "spec.runner.sleepInterval", Want: "must be from 10us to 10ms",
		Set: map[string]any{"spec.runner.sleepInterval": "9us"},
	},
	{
		Name: "long sleepInterval", Path: "spec.runner.sleepInterval", Want: "must be from 10us to 10ms",
		Set: map[string]any{"spec.runner.sleepInterval": "11ms"},
	},
	{
		Name: "long resultRetention", Path: "spec.runner.resultRetention", Want: "must be from 10s to 24h",
		Set: map[string]any{"spec.runner.resultRetention": "24h1s"},
	},
}
