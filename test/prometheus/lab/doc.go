// Package lab is what tests need to hold something against a real Prometheus: a server with a configuration, its
// answers, what the chart's monitors ask of it, and how exact its quantiles can be.
package lab
