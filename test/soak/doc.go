// Package soak runs one LoadTest for a long time against servers that do everything at once: they say GOAWAY, close,
// reset, fail and do not answer, and go away for some seconds each. At the end all counts of the report equal
// those of the servers, and the client's live heap has not grown by more than the windows of its report. The client
// is a process of its own, so that the servers' memory does not count.
//
// "make e2e-long" runs it (build tag soak); SOAK says for how long.
package soak
