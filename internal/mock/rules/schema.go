package rules

import _ "embed" // the schema

// Schema is the schema of a File in the form that CRDs have, as JSON. "make manifests" writes it.
//
//go:embed schema.json
var Schema []byte
