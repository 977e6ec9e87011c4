// Package soak runs one LoadTest for a long time against servers that do everything at once: they say GOAWAY, close,
// reset, fail and do not answer, and go away for some seconds each. At the end all counts of the report equal
// those of the servers, and the runner's memory is what it was after the warm-up.
//
// "make e2e-long" runs it (build tag soak); SOAK says for how long.
package soak
