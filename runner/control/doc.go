// Package control serves a runner's control endpoint: the messages of api/runner/v1alpha1 over
// HTTPS with mutual TLS. Only the operator gets an answer: a client needs a client certificate of the install CA with
// the operator's name.
//
// A PUT that was accepted is answered 204. Every other answer but a snapshot is a JSON Error:
// 400 for a message that is malformed or that the engine cannot take, 409 for one that
// contradicts what was accepted before, 404, 405 and 413 in their usual sense.
//
// What a message means, and whether it is a repetition or a contradiction, the engine decides;
// the endpoint itself only keeps the final snapshot and its acknowledgement. Contents are never
// logged.
package control
