// Package compile compiles the spec of a LoadTest to the Plan that runners execute. The operator and the command line
// share it, so that a manifest means the same load in both.
//
// The command line has no API server. Therefore compile checks manifests against the schema in the CRD and applies its
// defaults (schema.go, structure.go), and has the rules of the CRD in Go. It also checks what the API server cannot
// check: references, texts, URLs and headers. It reports all mistakes together, each with the path of its field.
package compile
