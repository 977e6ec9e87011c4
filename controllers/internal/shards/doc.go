// Package shards decides what the runners of a run are asked, and says what is known of them. It has the states of a
// shard, and finds silent and lost runners. It gives members their shares, proposes changes of the load, and adds the
// counts up.
//
// The package is pure: it has no clock, no goroutine and no log. A Group learns what the reconciler wants (Desired),
// what runners answer, and what time it is. From that follow the next calls, and a View. It observes and proposes, and
// the reconciler decides: a change of the load goes to the runners only when the run record has it. A process that
// takes over reads the record and asks the runners. Nothing that it needs was only in the memory of the process before
// it.
package shards
