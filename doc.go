// Package h2surge is the root of a load generator for HTTP services in Kubernetes. It holds no
// code: the API is in api, the operator in controllers, the engine in runner, the programs in cmd.
// Its test enforces the law of imports between them.
package h2surge
