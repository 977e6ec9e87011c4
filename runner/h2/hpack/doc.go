// Package hpack is header compression for HTTP/2 (RFC 7541) without
// allocation at steady state.
//
// A load generator sends the same few header blocks over and over and looks at
// few of the fields that come back. So encoding is a set of append functions
// from which the caller builds blocks once and keeps them, and decoding hands
// out slices that live as long as the call, and notes on the way what every
// message needs to be judged by: its status, its length, and whether RFC 9113
// section 8 calls it malformed.
package hpack
