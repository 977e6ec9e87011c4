// Package quicnet connects sessions of HTTP/3 (package h3) to QUIC connections of quic-go.
//
// The API of quic-go blocks: a goroutine waits for each stream. So each slot for a request has a goroutine, a lane. It
// opens a stream, offers it to the session as a Credit, reads the response, and opens the next stream. What the lanes
// read are records in a queue, from which the worker reads as from a socket. The worker writes requests itself, because
// that does not block as long as flow control permits.
package quicnet
