// Package trial runs simulations. It draws the events of a trial from its seed, runs each trial in a process of its
// own, so that a panic, a deadlock and a hang are results, too, and makes the events of a trial that fails fewer and
// simpler.
//
// A test function calls Simulation.Seeds. Its flags choose what runs: some fixed seeds (none), one seed in this process
// (-seed, -events), or new seeds for a time (-time).
package trial
