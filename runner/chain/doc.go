// Package chain turns a plan's chains into what a worker renders and judges with: requests as
// byte segments with holes, the values that fill the holes, and the checks on responses.
//
// A Program is read-only and shared by all workers. Sources, Wheel, Encoder and Instance belong to
// one worker each. Nothing here allocates per request once the buffers have grown.
//
// A variable's value is drawn as a number, which the instance keeps, and is written wherever it is needed:
// a request that is rendered again has the same values. Equal plans, seeds and shares draw equal values.
package chain
