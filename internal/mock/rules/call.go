package rules

import (
	"bytes"
	"net/url"
	"time"

	"github.com/h2surge/h2surge/runner/grpc"
)

// Fate is the outcome of a request.
type Fate uint8

// The outcomes: a response, no response, a reset of the stream, and the end of the connection.
const (
	Answered Fate = iota
	Unanswered
	Reset
	Close
)

// Call is a request and, after Engine.Answer, its answer. Begin prepares it for another request, and reuses its memory.
type Call struct {
	method, target []byte // target is :path, with the query
	path, query    []byte
	arena          []byte
	fields         []fieldSpan
	body           []byte
	params         [][]byte
	json           knowledge
	doc            []byte // the request's JSON, if json is yes

	// The values of placeholders. uuid and counter do not change within an answer.
	uuid     [36]byte
	hasUUID  bool
	counter  uint64
	now      time.Time
	id       []byte // of the resource
	document []byte
	created  bool // by put
	// The document of forEach for which a notification is made.
	eachID string
	each   []byte

	// Fate, Status and Delay are the outcome of the request. Rule is an index into Set.Names, or -1 if no rule matched.
	// Failed is true if the rule could not produce its response.
	Fate   Fate
	Rule   int
	Status int
	Delay  time.Duration
	Failed bool
	// Block is the HPACK header block of the answer; it uses no dynamic table. Body is its
	// content. Both are valid until Begin.
	Block []byte
	Body  []byte
	// Notifications are those that the target must send. They stay valid after Begin.
	Notifications []Notification

	// Trailers is the header block of the trailer section of a call of gRPC, like Block.
	Trailers []byte
	// Code is the number of the status of a call of gRPC; negative: the request is not one. The caller sets HTTP1 before
	// Engine.Answer if the connection has no trailer sections: no request is a call then.
	Code  int
	HTTP1 bool
	// Streamed is true if the answers to the messages of a stream were the whole answer: the call needed no rule.
	Streamed bool
	// Pause returns the time between two messages of the answer to a call. It is nil if there is none.
	Pause func() time.Duration

	// called is true for a call of gRPC, whose method is rpc; nil: there is no such method. ready are the messages of
	// the answer, if they were encoded before.
	called bool
	rpc    *grpc.Method
	ready  []byte
	// single is true for a Call that has one message of a stream of the client.
	single bool

	scratch, content, messages []byte
}

type fieldSpan struct{ at, value, end int }

type knowledge uint8

const (
	unknown knowledge = iota
	yes
	no
)

// keepBytes is the capacity of a buffer that a Call keeps for its next request.
const keepBytes = 16 << 10

// Begin starts a request. path is :path, query included.
func (c *Call) Begin(method, path []byte) {
	*c = Call{
		method:   append(c.method[:0], method...),
		target:   append(c.target[:0], path...),
		arena:    kept(c.arena),
		fields:   c.fields[:0],
		body:     kept(c.body),
		params:   c.params[:0],
		id:       c.id[:0],
		Block:    kept(c.Block),
		scratch:  kept(c.scratch),
		content:  kept(c.content),
		messages: kept(c.messages),
		Trailers: kept(c.Trailers),
		Rule:     -1,
		Code:     -1,
	}
	c.path = c.target
	if q := bytes.IndexByte(c.target, '?'); q >= 0 {
		c.path, c.query = c.target[:q], c.target[q+1:]
	}
}

func kept(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}

// Detach makes the next answer use new memory for Body and Trailers, because the caller keeps the current one for
// longer.
func (c *Call) Detach() { c.content, c.messages, c.Trailers = nil, nil, nil }

// AddField adds a request header field, :scheme and :authority among them.
func (c *Call) AddField(name, value []byte) {
	f := fieldSpan{at: len(c.arena)}
	c.arena = append(c.arena, name...)
	f.value = len(c.arena)
	c.arena = append(c.arena, value...)
	f.end = len(c.arena)
	c.fields = append(c.fields, f)
}

// AddBody adds a piece of the request's content.
func (c *Call) AddBody(p []byte) { c.body = append(c.body, p...) }

// Method, Target and Content are what the request has.
func (c *Call) Method() []byte { return c.method }

// Target is :path, with the query.
func (c *Call) Target() []byte { return c.target }

// Content is the content of the request that AddBody has added.
func (c *Call) Content() []byte { return c.body }

// EachField calls f for each header field in the order in which they came.
func (c *Call) EachField(f func(name, value []byte)) {
	for _, s := range c.fields {
		f(c.arena[s.at:s.value], c.arena[s.value:s.end])
	}
}

// header returns the first field of that name whose number is at least from. The result next is the number after it, or
// negative if there is no such field. :method and :path are fields too.
func (c *Call) header(name string, from int) (value []byte, next int) {
	switch name {
	case ":method":
		return once(c.method, from)
	case ":path":
		return once(c.target, from)
	}
	for i := from; i < len(c.fields); i++ {
		f := c.fields[i]
		if string(c.arena[f.at:f.value]) == name {
			return c.arena[f.value:f.end], i + 1
		}
	}
	return nil, -1
}

func once(value []byte, from int) ([]byte, int) {
	if from > 0 {
		return nil, -1
	}
	return value, 1
}

// queryValue is like header, for parameters of the query. from and next are offsets in the query. It compares decoded
// names and returns decoded values.
func (c *Call) queryValue(name string, from int) (value []byte, next int) {
	for from < len(c.query) {
		end := len(c.query)
		if i := bytes.IndexByte(c.query[from:], '&'); i >= 0 {
			end = from + i
		}
		key, val, _ := bytes.Cut(c.query[from:end], []byte{'='})
		from = end + 1
		if len(key) > 0 && string(unescaped(key)) == name {
			return unescaped(val), from
		}
	}
	return nil, -1
}

// unescaped decodes a name or value of a query. It returns text that cannot be decoded as it is.
func unescaped(b []byte) []byte {
	if bytes.IndexByte(b, '%') < 0 && bytes.IndexByte(b, '+') < 0 {
		return b
	}
	s, err := url.QueryUnescape(string(b))
	if err != nil {
		return b
	}
	return []byte(s)
}
