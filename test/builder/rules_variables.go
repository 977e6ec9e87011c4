package builder

import "slices"

const kinds = "exactly one of range, list, csv, subscribers, random, uuid, counter, timestamp, env, perShard and constant is needed"

// rulesOfVariables are about what a variable is. The variables of full.yaml: 0 range, 1 list, 2 to 5 csv, 6 to
// 9 random, 10 uuid, 11 counter, 12 timestamp, 13 env, 14 perShard, 15 to 19 constant, 20 to 27
// subscribers.
var rulesOfVariables = slices.Concat(
	choice{"spec.variables[0]", "range", "list", map[string]any{"values": []string{"a"}}, kinds}.rows(),
	choice{"spec.variables[10]", "uuid", "counter", map[string]any{}, kinds}.rows(),
	choice{"spec.variables[2].csv", "configMapKeyRef", "text", "a,b", "exactly one of configMapKeyRef, secretKeyRef, file and text is needed"}.rows(),
	choice{"spec.variables[6].random", "integer", "hex", map[string]any{"length": 8}, "exactly one of integer, hex, string and choice is needed"}.rows(),
	choice{"spec.variables[15].constant", "value", "valueFrom", map[string]any{"file": "/value"}, ""}.rows(),
	choice{"spec.variables[17].constant.valueFrom", "secretKeyRef", "file", "/value", ""}.rows(),
	choice{"spec.variables[20].subscribers.aka", "op", "opc", map[string]any{"value": "000102030405060708090a0b0c0d0e0f"}, "exactly one of op and opc is needed"}.rows(),
	choice{"spec.variables[20].subscribers.aka.op", "value", "valueFrom", map[string]any{"file": "/value"}, ""}.rows(),
	choice{"spec.variables[20].subscribers.aka.k.valueFrom", "secretKeyRef", "file", "/value", ""}.rows(),
)

// rulesOfSequences are about how values are drawn.
var rulesOfSequences = []Mutant{
	{
		Name: "empty range", Path: "spec.variables[0].range", Want: "end must be greater than start",
		Set: map[string]any{"spec.variables[0].range.start": 1000},
	},
	{
		Name: "random integers the wrong way round", Path: "spec.variables[6].random.integer", Want: "max must not be below min",
		Set: map[string]any{"spec.variables[6].random.integer.min": 16},
	},
	{
		Name: "an order of what is no sequence", Path: "spec.variables[10]", Want: "order and atEnd are allowed with range, list, csv and subscribers only",
		Set: map[string]any{"spec.variables[10].order": "Shuffled"},
	},
	{
		Name: "an end of what has none", Path: "spec.variables[11]", Want: "order and atEnd are allowed with range, list, csv and subscribers only",
		Set: map[string]any{"spec.variables[11].atEnd": "Stop"},
	},
	{
		Name: "a scope of the environment", Path: "spec.variables[13]", Want: "scope is not allowed with env, perShard and constant, which have one value",
		Set: map[string]any{"spec.variables[13].scope": "Step"},
	},
	{
		Name: "a global value for each shard", Path: "spec.variables[14]", Want: "scope is not allowed with env, perShard and constant, which have one value",
		Set: map[string]any{"spec.variables[14].scope": "Global"},
	},
	{
		Name: "a scope of a constant", Path: "spec.variables[15]", Want: "scope is not allowed with env, perShard and constant, which have one value",
		Set: map[string]any{"spec.variables[15].scope": "Worker"},
	},
	{
		Name: "a global timestamp", Path: "spec.variables[12].scope", Want: "scope Global is not allowed with timestamp: each runner has its own clock",
		Set: map[string]any{"spec.variables[12].scope": "Global"},
	},
	tooLong("spec.variables[12].timestamp.offset", "8760h1s", "must be between -8760h and 8760h"),
	tooLong("spec.variables[12].timestamp.offset", "-8760h1s", "must be between -8760h and 8760h"),
}
