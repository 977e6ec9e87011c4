// Package state has the states of a run and of a shard. Each is one type with one table of transitions, which says
// what each transition stores, what it sends the runners, and what users see. The tables in
// docs/design/control.md are generated from the tables here.
//
// The package is pure: it neither reads nor writes anything.
package state
