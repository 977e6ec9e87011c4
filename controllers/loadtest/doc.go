// Package loadtest reconciles LoadTests.
//
// A pass reads everything the run owns into a scope, runs the phases, which do what is to be
// done next and record facts in the scope, computes the status from the scope, and writes it once if it
// has changed. Events and metrics follow the write.
//
// What to do is decided by what exists: a Job and its annotation with the start instant, what
// the runners say, the ConfigMap of the report, which ends a run. Conditions and the phase in
// status are for others; nothing here reads them back to steer, but for completionTime, which
// keeps a run ended when its report was deleted.
//
// While the test runs the collector deals the load to as many shards as spec asks for. A runner that is over
// before the test is, lost or scaled away, leaves a record, an immutable ConfigMap with what it has counted; only
// then does its pod go. The Job follows: it has more indices at once, and fewer when nothing is lost by it.
//
// There is no finalizer. When a LoadTest goes away its runners are told to stop at once, and the
// garbage collector does the rest.
package loadtest
