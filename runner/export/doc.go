// Package export writes what a run found for others to read: a Report as JSON or as text for
// people, a line of progress for each second, and a runner's metrics for Prometheus.
//
// Text has no columns beyond 80 and is ASCII; for the same Report it is the same, byte for byte.
package export
