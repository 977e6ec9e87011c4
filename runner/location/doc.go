// Package location resolves what a Location field says against the request whose response has it
// (RFC 9110 10.2.2, RFC 3986 5.2), without allocating.
package location
