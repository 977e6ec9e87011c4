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
// There is no finalizer. When a LoadTest goes away its runners are told to stop at once, and the
// garbage collector does the rest.
package loadtest
