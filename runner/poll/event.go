package poll

// Event is one ready descriptor.
type Event struct {
	// Data is the data of Add.
	Data int32
	// Readable is also true at the end of the stream and after errors: the next read returns them.
	Readable bool
	Writable bool
	// Ended is true if the peer will send no more. The caller must read until the end of the stream.
	Ended bool
}
