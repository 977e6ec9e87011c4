// Package transport makes the calls to one runner: messages over mutual TLS, each with a snapshot as its answer, and
// measurements of the runner's clock. It knows no other runner, except that all of them share the memory for large
// snapshots and the number of polls a second.
package transport
