// Package crd has the schemas of LoadTests and LoadTestSchedules, for programs that have no API server to ask what
// their fields mean.
package crd

import _ "embed" // the schemas

// LoadTest is the schema in the CustomResourceDefinition of LoadTests, as JSON, with that of the metadata. "make
// manifests" writes it.
//
//go:embed loadtest.json
var LoadTest []byte

// LoadTestSchedule is the same of LoadTestSchedules. The spec of the template has no fields there: it is the spec of a
// LoadTest.
//
//go:embed loadtestschedule.json
var LoadTestSchedule []byte
