// Package v1alpha1 holds what the operator (or the command line) and a runner say to each other:
// the Plan a runner executes, the control messages that steer it, the Snapshot it returns while
// it works and the Report made of all snapshots at the end.
//
// It imports the standard library only, so that a runner needs nothing of Kubernetes.
//
// All durations and instants are integer nanoseconds on the wire (Go's time.Duration), all times
// in a Report are integer microseconds, because that is the resolution of the histograms.
package v1alpha1

// APIVersion is the apiVersion of Plan, Snapshot and Report.
const APIVersion = "runner.h2surge.io/v1alpha1"
