package mock

import (
	"bytes"
	"time"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// session is one connection without its I/O. The Server's lock guards it.
type session struct {
	srv   *Server
	h2    *h2.Server
	table uint8 // the state of the client's dynamic table
	// tableEpoch is how many changes of the table's size the field table takes into account.
	tableEpoch uint32
	// seen has the h2 session's counts that the Server's counters already include.
	seen h2.ServerCounts
	// onOutput is called when a delayed answer may have made output pending.
	onOutput func()
	number   uint64 // of the connection, from 1 in the order of accepting
	// owed is the number of open streams without a response.
	owed int
	// cut is true if a rule closes the connection without a GOAWAY.
	cut bool
	// opening is the protocol that the client speaks, and first what it sent until that was known.
	opening opening
	first   []byte
	http1   *http1Conn // nil: HTTP/2
}

func (s *Server) newSession(onOutput func()) *session {
	s.accepted++
	c := &session{srv: s, table: emptyState, onOutput: onOutput, number: s.accepted}
	c.h2 = h2.NewServer(s.h2, s.want, c)
	s.count.accepted++
	s.open++
	return c
}

// receive handles bytes from the client. After an error the session writes the pending output and closes.
func (c *session) receive(p []byte) error {
	s := c.srv
	s.count.received += uint64(len(p))
	err := c.h2.Receive(p, s.now)
	now := c.h2.Counts()
	s.count.resets += now.Resets - c.seen.Resets
	s.count.refused += now.Refused - c.seen.Refused
	s.count.malformed += now.Malformed - c.seen.Malformed
	c.seen = now
	if err != nil {
		s.count.connectionErrors++
	}
	return err
}

func (c *session) wrote(n int) {
	c.srv.count.sent += uint64(n)
	c.h2.Wrote(n)
}

// close is called once, when the connection is closed.
func (c *session) close() {
	c.h2.Close()
	c.srv.open--
}

// OnRequest implements h2.ServerHandler.
func (c *session) OnRequest(id uint32, method, path []byte) (tok uint32) {
	s := c.srv
	if s.exchanges.full() || s.calls.full() {
		s.count.refused++
		c.refuse(id)
		return 0
	}
	c.owed++
	tok = s.exchanges.take()
	x := &s.exchanges.slots[tok]
	x.conn, x.id, x.epoch = c, id, s.count.epoch
	x.method = parseMethod(method)
	x.hash = hashBasis
	if s.keeps() {
		x.call = s.calls.take()
		x.call.Begin(method, path)
	}
	if q := bytes.IndexByte(path, '?'); q >= 0 {
		path = path[:q]
	}
	x.serial, x.named = parseID(path)
	x.tooLong = len(path) > maxPath
	if x.method == methodPost && !x.tooLong {
		x.path = append(x.path[:0], bytes.TrimSuffix(path, []byte{'/'})...)
	}
	s.count.requests++
	s.count.pending++
	s.count.byMethod[x.method]++
	return tok
}

// OnHeader implements h2.ServerHandler. It is called only if the server stores complete requests.
func (c *session) OnHeader(_, tok uint32, name, value []byte) {
	c.srv.calls.addField(c.srv.exchanges.slots[tok].call, name, value)
}

// OnData implements h2.ServerHandler.
func (c *session) OnData(id, tok uint32, p []byte) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	if !x.isOf(c, id) {
		return
	}
	if s.bodies != nil {
		x.hash = hashBytes(x.hash, p)
	}
	if x.call != nil && !s.calls.addBody(x.call, p) {
		c.owed--
		c.refuse(id)
		s.settle(x, &s.count.aborted)
		s.release(tok)
		return
	}
	if s.engine != nil && c.http1 == nil {
		c.answerMessages(tok)
	}
}

// refuse ends a request for which the server has no memory.
func (c *session) refuse(id uint32) {
	if c.http1 != nil {
		c.http1.answers <- http1Answer{header: c.srv.encoder.states[staticState].block[answerFull]}
		return
	}
	c.h2.ResetStream(id, http2.ErrCodeRefusedStream)
}

// OnEnd implements h2.ServerHandler.
func (c *session) OnEnd(id, tok uint32) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	if !x.isOf(c, id) {
		return
	}
	if s.bodies != nil && x.method == methodPost && x.epoch == s.count.epoch {
		s.bodies.add(x.hash)
	}
	unanswered, notFound := s.faults.draw()
	if s.engine != nil && !unanswered {
		c.answerByRules(tok, notFound)
		return
	}
	due, full := s.now, false
	if !unanswered {
		due, full = s.due()
	}
	s.record.write(c, x, time.Duration(due-s.now))
	if unanswered {
		c.spoil(tok, rules.Unanswered)
		return
	}
	switch {
	case full:
		x.answer = answerFull
	case notFound:
		x.answer = answerNotFound
	default:
		x.answer = s.apply(x)
	}
	if due == s.now {
		s.respond(tok)
		return
	}
	s.hold(tok, due)
}

// due returns when a request that arrived now is answered; full: at once, because the queue is full.
func (s *Server) due() (at int64, full bool) {
	at, ok := s.queue.admit(s.now)
	if !ok {
		return s.now, true
	}
	return s.delay.due(at), false
}

// OnReset implements h2.ServerHandler.
func (c *session) OnReset(id, tok uint32) {
	c.owed--
	s := c.srv
	x := &s.exchanges.slots[tok]
	if !x.isOf(c, id) {
		return
	}
	s.settle(x, &s.count.aborted)
	if x.due != 0 {
		x.conn = nil // respondDue releases it
		s.calls.release(x)
		return
	}
	s.release(tok)
}

// release releases an exchange with the data of its request.
func (s *Server) release(tok uint32) {
	s.calls.release(&s.exchanges.slots[tok])
	s.exchanges.release(tok)
}

// settle moves a request from the pending ones to another count.
func (s *Server) settle(x *exchange, count *uint64) {
	if x.epoch == s.count.epoch {
		s.count.pending--
		*count++
	}
}

// apply applies a request to the resources and returns the answer.
func (s *Server) apply(x *exchange) answer {
	switch x.method {
	case methodPost:
		if x.tooLong {
			return answerTooLong
		}
		serial, ok := s.store.create()
		if !ok {
			return answerFull
		}
		x.serial = serial
		return answerCreated
	case methodGet, methodHead:
		return s.read(x)
	case methodPut, methodPatch:
		switch {
		case !x.named || !s.store.exists(x.serial):
			return answerNotFound
		case s.updateContent:
			return answerContent
		}
		return answerNoContent
	case methodDelete:
		if x.named && s.store.remove(x.serial) {
			return answerNoContent
		}
		return answerNotFound
	}
	return answerNotAllowed
}

func (s *Server) read(x *exchange) answer {
	switch {
	case x.named && !s.store.exists(x.serial):
		return answerNotFound
	case x.method == methodHead:
		return answerHead
	}
	return answerContent
}

// respond gives the answer to the session and releases the exchange.
func (s *Server) respond(tok uint32) {
	if s.engine != nil {
		s.respondByRules(tok)
		return
	}
	x := &s.exchanges.slots[tok]
	c := x.conn
	if c.http1 == nil && c.h2.EncoderTableEpoch() != c.tableEpoch {
		c.tableEpoch = c.h2.EncoderTableEpoch()
		if c.table != emptyState || c.h2.EncoderTableSize() < s.encoder.tableSize {
			c.table = staticState // the table may have lost entries, or be too small
		}
	}
	buf, table := s.encoder.append(c.beginHeader(), c.table, x.answer)
	if x.answer == answerCreated {
		buf = hpack.AppendInt(buf, 0, 7, uint64(len(x.path)+1+idLen))
		buf = append(append(buf, x.path...), '/')
		buf = appendID(buf, x.serial)
	}
	var body []byte
	if x.answer == answerContent {
		body = s.body
	}
	if c.send(x.id, buf, body, nil) {
		c.owed--
		c.table = table
		s.settle(x, &s.count.answered)
		if x.epoch == s.count.epoch {
			s.count.byStatus[x.answer]++
		}
	} else {
		s.settle(x, &s.count.aborted)
	}
	s.release(tok)
}

// beginHeader returns the buffer for the header of an answer.
func (c *session) beginHeader() []byte {
	if c.http1 != nil {
		return nil
	}
	return c.h2.Begin()
}

// send gives an answer with a header of beginHeader to the connection. ok is false if the request has ended.
func (c *session) send(id uint32, header, body, trailers []byte) (ok bool) {
	if c.http1 != nil {
		c.http1.answers <- http1Answer{header: header, body: body}
		return true
	}
	return c.h2.RespondTrailers(id, header, body, trailers)
}

// respondDue sends the answers that are due. It returns the time until the next one is due, in nanoseconds, or a
// negative number if no answer is delayed.
func (s *Server) respondDue() (wait int64) {
	for s.held() > 0 {
		tok := s.nextDue()
		x := &s.exchanges.slots[tok]
		if x.conn != nil && x.due > s.now {
			return x.due - s.now
		}
		s.popDue()
		if x.conn == nil {
			s.exchanges.release(tok)
			continue
		}
		onOutput := x.conn.onOutput
		s.respond(tok)
		onOutput()
	}
	return -1
}

// hold delays an exchange until its due time.
func (s *Server) hold(tok uint32, due int64) {
	s.exchanges.slots[tok].due = due
	if s.engine != nil {
		s.late.Push(tok, due)
		return
	}
	s.waiting.Push(tok)
}

// held returns the number of delayed exchanges.
func (s *Server) held() int { return s.waiting.Len() + s.late.Len() }

func (s *Server) nextDue() (tok uint32) {
	if s.engine != nil {
		tok, _ = s.late.First()
		return tok
	}
	return s.waiting.Front()
}

func (s *Server) popDue() {
	if s.engine != nil {
		s.late.Pop()
		return
	}
	s.waiting.Pop()
}
