// Package book keeps the records of a worker's requests, from the time of pick-up of their slots to their outcomes:
// those that wait for a stream, by target, those in flight, by timeout, and the responses of which a step needs more
// than the status. It does no I/O, has no clock, and does not count.
//
// Only this package writes the fields of a Request.
package book
