// Package conformance holds the engine against peers that nobody here wrote, and against peers that
// mean it harm.
//
// The hostile peers are scripted, in this process, and part of "make test": each row commits one
// violation on its first connection and behaves afterwards, so that a row sees the RFC's error
// code, the outcome that was counted, and that the worker lives on.
//
// docs/project/conformance.md lists each row. The tests compare the page with what they have run:
// "go test ./test/conformance -update" writes it.
//
// "make conformance" (build tag conformance) runs real servers on loopback: those of Debian that
// "make conformance" installs, Go's net/http, Node and Python, the gRPC servers grpc-go and grpcio, and aioquic. A
// server that is not there is skipped, and the last lines say which.
//
// "make conformance-more" (build tags conformance and more) builds servers of other languages, in servers, and runs the
// rows of gRPC and HTTP/3 against them. It is not in .ci/run: it needs crates.io and Maven Central, and takes minutes
// to compile.
package conformance
