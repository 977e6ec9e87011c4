// Package rules answers requests by the rules of a file. A rule selects requests, and has responses, delays and changes
// of stored documents.
//
// Load reads and checks a file and returns a Set, which does not change. An Engine answers by a Set. It owns the
// documents, the counters and the source of random numbers. Only one goroutine at a time may use it. It does no input
// or output: a Call has the request and, afterwards, the answer.
package rules
