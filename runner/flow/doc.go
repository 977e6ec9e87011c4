// Package flow has the chain instances of a worker and decides which step of an instance comes next: it starts
// instances, lets steps think, retries and repeats them, and keeps those that are ready until a slot or the worker
// takes them. It knows neither requests nor connections: the worker tells it how each step has ended.
package flow
