package grpc

import "strconv"

// codes are the status codes of gRPC, by number.
var codes = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// Code returns the name of the code in a grpc-status field. A client takes a status that is absent or unknown for
// UNKNOWN.
func Code(status []byte) string {
	if n, err := strconv.Atoi(string(status)); err == nil && n >= 0 && n < len(codes) {
		return codes[n]
	}
	return codes[2]
}
