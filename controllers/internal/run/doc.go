// Package run has what one pass of the reconciler knows of a run, and questions about it. It is pure: it has no
// clients, clocks or logs.
package run
