// Package curl turns command lines of curl, such as those of "copy as cURL" in browsers, into LoadTests.
// docs/reference/convert.md lists the result of each flag.
package curl
