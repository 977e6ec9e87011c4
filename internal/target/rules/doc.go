// Package rules makes a target answer as a file says: which requests a rule is for, what it
// answers, after what delay, and what becomes of the documents it stores.
//
// Load reads and checks a file and gives a Set, which never changes. An Engine answers by it: it
// owns the documents, the counters and the source of random numbers, and belongs to one goroutine
// at a time. It does no input or output; a Call carries a request to it and the answer back.
package rules
