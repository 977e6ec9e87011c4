// Package loadtest reconciles LoadTests.
//
// A pass reads the objects of one LoadTest into run.Facts, makes the decisions of the phase of the run, does what
// follows from them, computes the status from the facts, and writes it if it changed. Events and metrics follow the
// write. The run record says which phase it is: the run starts, runs, or has finished.
//
// The run record has all decisions: the plan, the start, the changes of the load, the runners that ended, the decision
// to stop, and how the run ended. The operator stores a decision there before it acts on it. Status is computed from
// spec, record and view. The operator reads nothing back from status, with two exceptions: a test whose status has a
// startTime or a completionTime never starts again if its record was deleted, and the counts of status do not decrease.
//
// When a runner ends before the test, lost or scaled away, the operator first stores its counts and its entry in the
// record. Then its pod goes. The Job gets more indices at once, and fewer only when no counts are lost by that.
//
// There is no finalizer. When a LoadTest is deleted, the operator stops its runners, and the garbage collector deletes
// the objects.
//
// Words: recorded means that the run record has it. A test is held if spec.suspend keeps it from
// starting. A runner left if a change took its share and its counts are final.
package loadtest
