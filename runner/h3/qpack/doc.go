// Package qpack is the header compression of HTTP/3 (RFC 9204) without a dynamic table: what is encoded refers to the
// static table and has literals, and what is decoded may do no more, because the sessions announce a table of size 0.
// So header blocks depend on no other stream. It does not allocate at steady state.
package qpack
