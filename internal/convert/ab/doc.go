// Package ab turns command lines of ab, the benchmark of the Apache HTTP server, into LoadTests.
// docs/convert.md says what becomes of each flag.
package ab
