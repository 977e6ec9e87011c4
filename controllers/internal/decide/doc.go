// Package decide makes the decisions of a pass from the facts: what the run record gets next, and what follows from it.
// It is pure: the reconciler stores a decision before it acts on it.
package decide
