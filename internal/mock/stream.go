package mock

import (
	"slices"
	"time"

	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/grpc"
)

// answerMessages answers the complete messages of a stream of gRPC if rules answer each of them.
func (c *session) answerMessages(tok uint32) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	if x.call == nil {
		return
	}
	if !x.asked {
		x.asked, x.each = true, s.engine.AnswersEach(&x.call.Call)
	}
	for ended := false; x.each && !ended; {
		m := s.calls.take()
		now := s.begin.Add(time.Duration(s.now))
		size := s.engine.AnswerMessage(&m.Call, &x.call.Call, x.call.Content()[x.read:], now)
		if size > 0 {
			x.read += size
			ended = c.answerMessage(tok, &m.Call, now)
		}
		s.calls.put(m)
		if size == 0 {
			return
		}
	}
}

// answerMessage gives the answer to a message of a stream to the session. It returns true if the call ends.
func (c *session) answerMessage(tok uint32, m *rules.Call, now time.Time) (ended bool) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	if m.Rule >= 0 && x.epoch == s.count.epoch {
		s.count.rules.add(m)
	}
	if len(m.Notifications) > 0 {
		s.notifier.Add(m.Notifications, now)
	}
	switch {
	case m.Fate == rules.Unanswered:
		return false
	case m.Fate != rules.Answered:
		c.spoil(tok, m.Fate)
		return true
	case m.Ends():
		m.Body, m.Trailers = slices.Clone(m.Body), slices.Clone(m.Trailers) // the session can keep them
		c.complete(x, m)
		s.release(tok)
		return true
	case !c.part(x, m.Block, m.Body):
		c.spoil(tok, rules.Reset) // the client takes no answers
		return true
	}
	return false
}

// part sends messages of an answer that continues, and the header before the first ones.
func (c *session) part(x *exchange, header, messages []byte) (ok bool) {
	if x.begun {
		return c.h2.RespondNext(x.id, messages)
	}
	x.begun = true
	return c.h2.RespondFirst(x.id, append(c.beginHeader(), header...), messages)
}

// pauses sends the first message of an answer with pauses, and returns true if others follow: respondByRules is called
// again after the pause.
func (s *Server) pauses(tok uint32) bool {
	x := &s.exchanges.slots[tok]
	call := x.call
	if call.Pause == nil || call.Code != 0 {
		return false
	}
	size := grpc.Size(call.Body)
	if size == 0 || size == len(call.Body) || !x.conn.part(x, call.Block, call.Body[:size]) {
		return false
	}
	call.Body = call.Body[size:]
	s.hold(tok, s.now+int64(call.Pause()))
	return true
}
