// Package export writes the results of a run: a Report as JSON, text or HTML, and a line of progress for each second.
//
// Text has no columns beyond 80 and is ASCII; for the same Report it is the same, byte for byte.
package export
