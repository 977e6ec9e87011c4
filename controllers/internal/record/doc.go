// Package record reads and writes the record of a run: one object of the internal kind LoadTestRun for each LoadTest.
//
// The record has what the operator must not decide twice. The reconciler stores a decision before it acts on it. An
// operator that starts reads the record and asks the runners, and nothing else.
//
// Records are not in the operator's cache: a watch would bring each write back. The operator is the only writer, so the
// Store keeps the last version that it wrote. Each write has the resource version that it is based on, and the API
// server refuses it when another operator wrote meanwhile.
package record
