// Package plan encodes and decodes the Plan of runners: the canonical form, which is hashed, and the compressed form,
// which the operator stores in a ConfigMap.
//
// It imports the standard library only, so that runners can decode a plan without Kubernetes. Package compile makes
// plans.
package plan
