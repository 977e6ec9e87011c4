// Package loadtest reconciles LoadTests.
//
// A pass reads everything the run owns into a scope, runs the phases, which do what is to be
// done next and record facts in the scope, computes the status from the scope, and writes it once if it
// has changed. Events and metrics follow the write.
//
// The run record decides what to do next: it has the plan, the start, the edits of the spec, the runners that ended, the
// decision to stop, and how the run ended. The operator stores each decision there before it acts on it. Status is
// computed from spec, record and view; the operator reads nothing back from it, except that a test whose status has a
// startTime or a completionTime never starts again if its record was deleted.
//
// A runner that ends before the test, lost or scaled away, leaves its counts and an entry in the record; only after that
// its pod goes. The Job follows: it gets more indices at once, and fewer when no counts are lost by that.
//
// There is no finalizer. When a LoadTest goes away its runners are told to stop at once, and the
// garbage collector does the rest.
package loadtest
