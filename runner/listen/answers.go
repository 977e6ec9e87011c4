package listen

import (
	"bytes"
	"time"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/internal/dueheap"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/message"
)

// answerer answers the notifications of a listener by its rules.
type answerer struct {
	engine *rules.Engine
	names  []string
	// counts are the notifications by rule.
	counts []int64
}

// newAnswerer returns nil if the listener has no rules.
func newAnswerer(set *rules.Set, seed uint64) (*answerer, error) {
	if set == nil {
		return nil, nil
	}
	engine, err := rules.NewEngine(set, seed)
	return &answerer{engine: engine, names: set.Names(), counts: make([]int64, len(set.Names()))}, err
}

// byRule returns the notifications by the name of their rule.
func (a *answerer) byRule() (out map[string]int64) {
	if a == nil {
		return nil
	}
	for i, n := range a.counts {
		if n > 0 && out == nil {
			out = map[string]int64{}
		}
		if n > 0 {
			out[a.names[i]] = n
		}
	}
	return out
}

// answers are those that the rules of all listeners make.
type answers struct {
	// call is the notification that is being answered.
	call rules.Call
	// delayed have a time. size is the memory that they take, in octets.
	delayed dueheap.Heap[answer]
	size    int
}

// maxDelayed bounds the memory of delayed answers, so that peers cannot fill it. Above it, notifications are refused.
const maxDelayed = 64 << 20

// answer is an answer that is sent later.
type answer struct {
	conn *served
	// opened is that of the connection: if it has changed, the record has another connection.
	opened      uint64
	id, tok     uint32
	block, body []byte
}

// answerSize is what an answer takes besides its octets.
const answerSize = 128

func (a *answer) size() int { return answerSize + cap(a.block) + cap(a.body) }

// full returns whether the delayed answers take all that they may.
func (s *answers) full() bool { return s.size >= maxDelayed }

// answer answers a notification by the rules of its listener. It returns false if no rule does. ls.open keeps the token
// until the stream ends.
func (c *served) answer(id, tok uint32, x *message.Exchange) (answered bool) {
	ls := c.ls
	a, call := ls.all[c.listener].rules, &ls.answers.call
	if a == nil {
		return false
	}
	fill(call, x.Request)
	if now := time.Unix(0, ls.wall()); x.Cut {
		a.engine.TooLarge(call, now)
	} else if a.engine.Answer(call, now); call.Rule < 0 {
		return false
	} else {
		a.counts[call.Rule]++
	}
	switch call.Fate {
	case rules.Unanswered:
	case rules.Reset:
		ls.open.take(int32(tok))
		c.h2.ResetStream(id, http2.ErrCodeInternal)
	case rules.Close:
		c.isCut = true
	case rules.Answered:
		later := answer{conn: c, opened: c.opened, id: id, tok: tok, block: call.Block, body: call.Body}
		if call.Delay > 0 {
			later.block = bytes.Clone(call.Block)
			ls.answers.push(later, ls.now+int64(call.Delay))
			call.Detach()
		} else if streams := c.h2.Open(); later.send() && c.h2.Open() == streams {
			call.Detach() // the session has not sent all of the body yet
		}
	}
	return true
}

// fill makes a call of a request.
func fill(call *rules.Call, r *message.Message) {
	call.Begin(r.Method, r.Path)
	call.AddField([]byte(":scheme"), r.Scheme)
	call.AddField([]byte(":authority"), r.Authority)
	for i := range r.Fields {
		call.AddField(r.Fields[i].Name, r.Fields[i].Value)
	}
	call.AddBody(r.Body)
}

// push adds an answer that is sent later.
func (s *answers) push(a answer, due int64) {
	s.size += a.size()
	s.delayed.Push(a, due)
}

// sendDelayed sends the answers whose time has come.
func (ls *Listeners) sendDelayed() {
	s := &ls.answers
	for a, ok := s.delayed.Take(ls.now); ok; a, ok = s.delayed.Take(ls.now) {
		s.size -= a.size()
		if a.conn.opened == a.opened && a.send() {
			a.conn.markDirty()
		}
	}
}

// send sends an answer. It returns false if the stream has ended.
func (a *answer) send() (ok bool) {
	c := a.conn
	if ok = c.h2.Respond(a.id, append(c.h2.Begin(), a.block...), a.body); ok {
		c.ls.open.take(int32(a.tok))
	}
	return ok
}
