// Package compile turns the spec of a LoadTest into the Plan that runners execute. The operator
// and the command line share it, so that the same manifest means the same load in both.
//
// The command line has no API server, so compile applies every default, every bound and every
// rule of the API again, beside the checks that only it can make: cross-references, texts, URLs,
// headers. It reports all mistakes at once, each with the path of its field.
package compile
