// Package integration tests what needs a real API server but no nodes: the CRD's bounds and rules,
// and that a manifest means the same to the API server as to the command line.
package integration
