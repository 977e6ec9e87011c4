// Package status computes what users see of a run, from the facts of a pass: the status with its conditions, the events of a transition, and how the run
// ended. One function sets each condition.
package status
