// Package process is the life of a runner process: it reads the plan, serves the control port and the port for metrics,
// and ends when the operator has the result. The arguments, the environment and the signals come from cmd/runner.
package process
