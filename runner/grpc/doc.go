// Package grpc encodes the messages of gRPC calls and decodes those of their responses. A Schema has the messages of
// proto files. A Method turns messages in the JSON mapping of Protocol Buffers, with marks where the values of
// placeholders go, into Pieces: what does not change is encoded once, before the load.
//
// A message travels behind a prefix of five octets: a flag that says whether it is compressed, and its length
// (PROTOCOL-HTTP2.md of gRPC, "Length-Prefixed-Message").
package grpc
