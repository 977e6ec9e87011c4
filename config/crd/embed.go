// Package crd holds the CustomResourceDefinition of LoadTests, for programs that have no API server to
// ask what its fields mean.
package crd

import _ "embed" // the definition

// LoadTests is the CustomResourceDefinition, in YAML. controller-gen writes it.
//
//go:embed bases/h2surge.io_loadtests.yaml
var LoadTests []byte
