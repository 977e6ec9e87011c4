// Package plan turns a runner's Plan into bytes and back: the canonical form that is hashed, and
// the compressed form that travels in a ConfigMap.
//
// It needs the standard library only, so that a runner can decode what the operator encoded
// without anything of Kubernetes. Who compiled the plan, and from what, is no concern of it.
package plan
