// Package crd has the schema of LoadTests, for programs that have no API server to ask what its fields mean.
package crd

import _ "embed" // the schema

// LoadTest is the schema in the CustomResourceDefinition of LoadTests, as JSON, with that of the metadata. "make manifests" writes it.
//
//go:embed loadtest.json
var LoadTest []byte
