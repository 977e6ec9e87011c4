// Package ab turns command lines of ab, the benchmark of the Apache HTTP server, into LoadTests.
// docs/convert.md lists the result of each flag.
package ab
