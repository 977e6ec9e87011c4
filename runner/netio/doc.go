// Package netio is the input and output of a worker: sockets that do not block, the wait for those that are ready, and
// TLS between sockets and sessions. On Linux it uses epoll, on other systems goroutines.
package netio
