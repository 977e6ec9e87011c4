// Package observe reads the observations of a plan while the test runs: it asks Prometheus servers, and reads the
// metrics that targets serve. It uses goroutines of its own and no worker. An observation that cannot be read has a gap
// with the cause, and nothing else happens.
package observe
