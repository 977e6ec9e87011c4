package simulate

import "github.com/h2surge/h2surge/test/simulate/trial"

// Arguments that many actions have. An index is modulo the number of what exists. Each fault has its duration, so that
// an event that is left out leaves out the end of its fault, too.
var (
	anyRunner   = trial.Arg{Name: "runner", High: 7}
	anyOperator = trial.Arg{Name: "operator", High: 5}
	from        = trial.Arg{Name: "from", High: 5}
	anyTest     = trial.Arg{Name: "test", High: 2}
	lasts       = trial.Arg{Name: "ms", Low: 50, High: 120_000}
	times       = trial.Arg{Name: "times", Low: 1, High: 4}
)

// Kinds are the kinds of objects that the argument kind of actions means.
var Kinds = []string{"ConfigMap", "LoadTestCheckpoint", "LoadTestRun", "Job", "Pod", "Secret", "LoadTest",
	"PodDisruptionBudget"}

// anyKind is an index of Kinds.
var anyKind = trial.Arg{Name: "kind", High: int64(len(Kinds)) - 1}

func args(all ...trial.Arg) []trial.Arg { return all }

// Actions are what can happen.
var Actions = []trial.Action{
	{Group: "system", Name: "operators", Args: args(trial.Arg{Name: "replicas", Low: 1, High: 3}, trial.Arg{Name: "skew",
		High: 5000}),
		Doc: "the replicas of the operator; the clocks of runners differ by up to skew ms"},
	{Group: "system", Name: "links", Args: args(trial.Arg{Name: "delay", High: 30}, trial.Arg{Name: "loss", High: 20}),
		Doc: "delay in ms one way, and the packets of 1000 that are lost"},
	{Group: "user", Name: "test", Args: shape(), Doc: shapeDoc},

	{Group: "runner", Name: "kill", Weight: 12, Args: args(anyRunner),
		Doc: "the kernel kills the process of a runner (OOM)"},
	{Group: "runner", Name: "evict", Weight: 6, Args: args(anyRunner),
		Doc: "the kubelet evicts the pod: SIGTERM, and SIGKILL after its grace"},
	{Group: "runner", Name: "freeze", Weight: 8, Args: args(anyRunner, lasts),
		Doc: "SIGSTOP, and SIGCONT"},
	{Group: "cluster", Name: "node", Weight: 5, Args: args(anyRunner, lasts),
		Doc: "kubelet and runner are cut off, the target excepted"},
	{Group: "cluster", Name: "force", Weight: 8, Args: args(anyRunner, lasts),
		Doc: "as node, and the pod object is deleted by force, with its finalizer"},
	{Group: "cluster", Name: "hold", Weight: 8, Args: args(lasts), Doc: "the Job controller does nothing"},
	{Group: "cluster", Name: "starting", Weight: 5, Args: args(lasts), Doc: "containers start this late"},

	{Group: "network", Name: "cut", Weight: 25, Args: args(anyRunner, from, lasts),
		Doc: "no packets between the operators and a runner; from: all (even), or one of them"},
	{Group: "network", Name: "deafen", Weight: 8, Args: args(anyRunner, from, lasts),
		Doc: "no packets from the operators to a runner"},
	{Group: "network", Name: "mute", Weight: 15, Args: args(anyRunner, from, lasts),
		Doc: "no packets from a runner to the operators"},
	{Group: "network", Name: "cutAll", Weight: 10, Args: args(lasts),
		Doc: "no packets between the operators and all runners"},
	{Group: "network", Name: "reset", Weight: 10, Args: args(anyRunner),
		Doc: "the connections of a runner's control port are reset"},
	{Group: "network", Name: "slow", Weight: 6, Args: args(lasts, trial.Arg{Name: "delay", Low: 50, High: 4000}),
		Doc: "all packets are delayed by delay ms"},
	{Group: "network", Name: "cutTarget", Weight: 6, Args: args(anyRunner, lasts),
		Doc: "no packets between a runner and the target"},

	{Group: "API server", Name: "refuse", Weight: 20, Args: args(times), Doc: "the next writes get an internal error"},
	{Group: "API server", Name: "conflict", Weight: 10, Args: args(times),
		Doc: "another client changes the object before the next updates"},
	{Group: "API server", Name: "loseAnswer", Weight: 25, Args: args(times),
		Doc: "the next writes are made, and their answers are lost"},
	{Group: "API server", Name: "away", Weight: 8, Args: args(lasts), Doc: "no answer at all"},
	{Group: "API server", Name: "slowWrite", Weight: 20, Args: args(times, trial.Arg{Name: "delay", Low: 50,
		High: 20_000}), Doc: "the next writes take delay ms to the API server"},
	{Group: "API server", Name: "quota", Weight: 8, Args: args(anyKind, lasts),
		Doc: "a quota refuses new objects of a kind"},
	{Group: "API server", Name: "admission", Weight: 4, Args: args(anyKind, lasts),
		Doc: "an admission webhook refuses changes of a kind"},
	{Group: "API server", Name: "forbid", Weight: 3, Args: args(anyKind, lasts), Doc: "RBAC forbids the operator a kind"},
	{Group: "API server", Name: "slowWatch", Weight: 15, Args: args(anyOperator, lasts),
		Doc: "the events of watches come late"},
	{Group: "API server", Name: "endWatch", Weight: 8, Args: args(anyOperator), Doc: "watches end"},
	{Group: "API server", Name: "gone", Weight: 3, Args: args(anyOperator),
		Doc: "watches end, and their versions are too old (410)"},

	{Group: "operator", Name: "killOperator", Weight: 20, Args: args(anyOperator),
		Doc: "a process is killed and starts again; operator: the one that leads (even), or replica 1, 2 or 3"},
	{Group: "operator", Name: "stopOperator", Weight: 12, Args: args(anyOperator),
		Doc: "SIGTERM, as in an upgrade, and it starts again"},
	{Group: "operator", Name: "freezeOperator", Weight: 12, Args: args(anyOperator, lasts), Doc: "SIGSTOP, and SIGCONT"},
	{Group: "operator", Name: "step", Weight: 10, Args: args(anyOperator, lasts, trial.Arg{Name: "seconds", Low: 1,
		High: 7200}, trial.Arg{Name: "back", High: 1}), Doc: "its wall clock is ahead, or back, until it is set right"},
	{Group: "operator", Name: "cutOperator", Weight: 20, Args: args(anyOperator, lasts),
		Doc: "no packets to the API server"},

	{Group: "user", Name: "rate", Weight: 25, Args: args(anyTest, trial.Arg{Name: "rate", Low: 5, High: 45},
		trial.Arg{Name: "ramp", High: 40}), Doc: "changes the rate, and the start of a ramp"},
	{Group: "user", Name: "suspend", Weight: 20, Args: args(anyTest), Doc: "suspends the test, or resumes it"},
	{Group: "user", Name: "scale", Weight: 30, Args: args(anyTest, trial.Arg{Name: "shards", Low: 1, High: 5}),
		Doc: "changes the shards"},
	{Group: "user", Name: "template", Weight: 4, Args: args(anyTest),
		Doc: "changes a path, which the API server accepts before the start only"},
	{Group: "user", Name: "label", Weight: 3, Args: args(anyTest), Doc: "changes a label"},
	{Group: "user", Name: "stop", Weight: 8, Args: args(anyTest), Doc: "stops the test"},
	{Group: "user", Name: "delete", Weight: 2, Args: args(anyTest), Doc: "deletes the test"},
	{Group: "user", Name: "replace", Weight: 2, Args: args(anyTest),
		Doc: "deletes the test and creates it again under its name"},
	{Group: "user", Name: "another", Weight: 3, Args: shape(),
		Doc: "creates another test; its arguments are those of test"},
	{Group: "user", Name: "forget", Weight: 4, Args: args(anyTest),
		Doc: "deletes the run record of the test after its end, and all operators restart"},
	{Group: "user", Name: "deletePod", Weight: 3, Args: args(anyRunner), Doc: "deletes a runner pod"},
	{Group: "user", Name: "deleteObject", Weight: 3, Args: args(anyTest, anyKind), Doc: "deletes an object of a test"},

	{Group: "user", Name: "rows", Weight: 3, Doc: "adds a row to the ConfigMap of tables"},
	{Group: "user", Name: "rotate", Weight: 3,
		Doc: "replaces the certificates of runners, in a Secret, and of the target with TLS"},

	{Group: "tenant", Name: "forge", Weight: 12, Args: args(anyTest, anyKind, trial.Arg{Name: "owner",
		High: 1}), Doc: "creates an object with the name of one that the test may need; owner: it names the test as its owner"},
	{Group: "tenant", Name: "replaceObject", Weight: 8, Args: args(anyTest, anyKind),
		Doc: "deletes an object of a test and creates another one"},
	{Group: "tenant", Name: "damage", Weight: 5, Args: args(anyRunner), Doc: "writes other octets to a checkpoint"},

	{Group: "schedule", Name: "schedule", Weight: 2, Args: args(trial.Arg{Name: "policy", High: 2}),
		Doc: "creates a LoadTestSchedule of each minute"},
	{Group: "schedule", Name: "unschedule", Weight: 1, Doc: "deletes the LoadTestSchedules"},
	{Group: "lock", Name: "deleteLock", Weight: 1, Doc: "deletes the LoadTestLocks"},

	{Group: "target", Name: "late", Weight: 8, Args: args(lasts, trial.Arg{Name: "delay", Low: 10, High: 9000}),
		Doc: "responses come delay ms late"},
	{Group: "target", Name: "silent", Weight: 4, Args: args(lasts), Doc: "no responses"},
	{Group: "target", Name: "errors", Weight: 5, Args: args(lasts, trial.Arg{Name: "permille", Low: 1, High: 1000}),
		Doc: "responses with status 503"},
	{Group: "target", Name: "resetStreams", Weight: 4, Args: args(lasts, trial.Arg{Name: "permille", Low: 1, High: 1000}),
		Doc: "RST_STREAM"},
	{Group: "target", Name: "goAway", Weight: 5, Doc: "GOAWAY on all connections"},
	{Group: "target", Name: "close", Weight: 5, Doc: "closes all connections"},
	{Group: "target", Name: "refuseConnections", Weight: 4, Args: args(lasts),
		Doc: "closes all connections and accepts no others"},
	{Group: "target", Name: "lie", Weight: 3, Args: args(lasts), Doc: "responses break their protocol"},
}

const shapeDoc = "creates a test; lost: onShardLost is Fail, Continue, Rebalance; lease in seconds; profile: constant, ramp, bursts, a pause, a " +
	"closed loop; once: setup chain (1), teardown chain (2); protocol: h2c, http1; extra: lock (1), sidecar (2), deadline (4); limit: " +
	"no threshold, no errors, few errors else the test ends, p99 in windows, p99 in windows else the test ends; ttl: none, 0 s, 20 s, by outcome; " +
	"feature: none, a table, notifications, TLS, two targets, a search. Of these three, higher numbers mean none"

// shape returns the arguments of a new test.
func shape() []trial.Arg {
	return args(
		trial.Arg{Name: "shards", Low: 1, High: 5}, trial.Arg{Name: "minShards", High: 2}, trial.Arg{Name: "rate", Low: 5,
			High: 100},
		trial.Arg{Name: "seconds", Low: 5, High: 105}, trial.Arg{Name: "lost", High: 2}, trial.Arg{Name: "lease", Low: 10,
			High: 20},
		trial.Arg{Name: "profile", High: 4}, trial.Arg{Name: "graceful", High: 20}, trial.Arg{Name: "once", High: 3},
		trial.Arg{Name: "protocol", High: 1}, trial.Arg{Name: "extra", High: 7},
		trial.Arg{Name: "limit", High: most(limits)}, trial.Arg{Name: "ttl", High: most(expiries)},
		trial.Arg{Name: "feature", High: most(features)})
}
