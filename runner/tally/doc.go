// Package tally counts what happens to the slots, requests, chain instances and notifications of a worker. It knows
// which stages are measured, which thresholds have figures of their own, and of which failures a sample is wanted. It
// has no clock, and does not change what it counts.
package tally
