// Package state has the states of a run: one type with one table of transitions, which says
// what each transition stores, what it sends the runners, and what users see. The table in
// docs/design/control.md is generated from the one here.
//
// The package is pure: it neither reads nor writes anything.
package state
