// Package trial shows what a trial run sends and receives: each request with its response, checks and captures. It
// keeps nothing of runs that are not trials.
package trial
