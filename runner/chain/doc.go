// Package chain compiles the chains of a plan for a worker: requests as byte segments with placeholders, the values of
// the placeholders, and the checks of responses.
//
// A Program is shared by all workers and read-only, except for the header blocks, which it makes when a worker needs
// them. Sources, WeightedRoundRobin, Encoder, Head and Instance belong to one worker each. After the buffers have
// grown, nothing in this package allocates memory per request.
//
// The value of a variable is drawn as a number. The instance keeps the number, so a request that is rendered again has
// the same values. Equal plans, seeds and shares draw equal values.
package chain
