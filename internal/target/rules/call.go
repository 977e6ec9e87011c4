package rules

import (
	"bytes"
	"net/url"
	"time"
)

// Fate is what becomes of a request.
type Fate uint8

// A request is answered, never answered, reset, or its connection is closed.
const (
	Answered Fate = iota
	Unanswered
	Reset
	Close
)

// Call is one request and, once Engine.Answer has seen it, its answer. Begin makes it ready for
// another request; its memory is used again.
type Call struct {
	method, target []byte // target is :path, with the query
	path, query    []byte
	arena          []byte
	fields         []fieldSpan
	body           []byte
	params         [][]byte
	json           knowledge
	doc            []byte // the request's JSON, if json is yes

	// What texts show. uuid and counter are the same throughout an answer.
	uuid     [36]byte
	hasUUID  bool
	counter  uint64
	now      time.Time
	id       []byte // of the resource
	document []byte
	created  bool // by put

	// Fate, Rule (its place in Set.Names; -1: none matched), Status and Delay tell what is to be
	// done with the request, and when. Failed tells that the rule could not answer as it says.
	Fate   Fate
	Rule   int
	Status int
	Delay  time.Duration
	Failed bool
	// Block is the HPACK header block of the answer; it uses no dynamic table. Body is its
	// content. Both are valid until Begin.
	Block []byte
	Body  []byte

	scratch, content []byte
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
		method:  append(c.method[:0], method...),
		target:  append(c.target[:0], path...),
		arena:   kept(c.arena),
		fields:  c.fields[:0],
		body:    kept(c.body),
		params:  c.params[:0],
		id:      c.id[:0],
		Block:   kept(c.Block),
		scratch: kept(c.scratch),
		content: kept(c.content),
		Rule:    -1,
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

// Detach gives up the memory of Body: somebody else refers to it for longer.
func (c *Call) Detach() { c.content = nil }

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

// Content is the request's content as far as it was added.
func (c *Call) Content() []byte { return c.body }

// EachField calls f for each header field in the order in which they came.
func (c *Call) EachField(f func(name, value []byte)) {
	for _, s := range c.fields {
		f(c.arena[s.at:s.value], c.arena[s.value:s.end])
	}
}

// header returns the first field of that name at or after the from-th, and the number to go on
// from; it is negative when there is none. :method and :path are fields too.
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

// queryValue is like header, for parameters of the query; from and next are places in it. Names
// and values are compared and returned decoded.
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

// unescaped decodes a part of a query; one that cannot be decoded stands for itself.
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
