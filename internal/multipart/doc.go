// Package multipart reads and writes multipart contents (RFC 2046 5.1), such as those of multipart/related (RFC 2387).
//
// Reading allocates nothing, and its results are slices of the content.
package multipart
