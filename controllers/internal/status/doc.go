// Package status computes what users see of a run, from the facts of a pass: the status with its conditions, the
// events of a transition, and how the run ended. situation.go has the phase and the conditions of each situation.
package status
