package mock

// exchange is a request without an answer yet.
type exchange struct {
	conn   *session // nil: free, or aborted and still in the queue
	id     uint32   // its stream
	epoch  uint32   // of the counters, when the request arrived
	method method
	answer answer
	named  bool // the path ends with an id, which serial is
	// asked is true when each is known: rules answer each message of a stream of gRPC when it arrives. read is the size of
	// those that were answered. begun is true if the header of the response was sent.
	asked, each, begun bool
	read               int
	// tooLong: path was not kept.
	tooLong bool
	serial  uint64 // of the resource named or created
	hash    uint64 // of the body so far
	due     int64
	// path of a POST, without query and trailing slash. The location is below it. The next exchange reuses the array.
	path []byte
	// call has the data of the request that rules and the record need. It is nil without rules and record, and for an
	// aborted exchange in the queue.
	call *keptCall
	next uint32 // of the free list, number plus one
}

// isOf returns whether the exchange is still that of a stream: the server releases the exchange of a request without an
// answer while its stream is open, and another request takes it.
func (x *exchange) isOf(c *session, id uint32) bool { return x.conn == c && x.id == id }

// exchanges is a slab with a free list. Pointers into it are valid until the next call of take.
type exchanges struct {
	slots []exchange
	free  uint32
	n     int // in use
}

const (
	// keepPath is the longest path whose array a free exchange keeps.
	keepPath = 256
	// maxPath is the longest path of a POST that creates a resource. Together with maxExchanges it bounds the memory for
	// open requests to about 2 GiB. With usual paths they need a tenth of that.
	maxPath = 2048
	// maxExchanges bounds the pending requests of all connections. The server refuses more with REFUSED_STREAM.
	maxExchanges = 1 << 20
)

// full returns true if take must not be called.
func (e *exchanges) full() bool { return e.n >= maxExchanges }

func (e *exchanges) take() uint32 {
	e.n++
	if e.free == 0 {
		e.slots = append(e.slots, exchange{})
		return uint32(len(e.slots) - 1)
	}
	tok := e.free - 1
	e.free = e.slots[tok].next
	return tok
}

func (e *exchanges) release(tok uint32) {
	x := &e.slots[tok]
	path := x.path[:0]
	if cap(path) > keepPath {
		path = nil
	}
	e.n--
	*x = exchange{path: path, next: e.free}
	e.free = tok + 1
}
