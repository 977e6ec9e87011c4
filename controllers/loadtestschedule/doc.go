// Package loadtestschedule creates LoadTests at the times of LoadTestSchedules. A pass reads the schedule and its
// LoadTests into a scope, the sync functions note what they find, and statusOf computes the status.
package loadtestschedule
