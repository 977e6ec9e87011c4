package target

import (
	"fmt"
	"time"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/internal/target/rules"
	"github.com/h2surge/h2surge/runner/protocol"
)

const (
	// maxContent is the longest content of a request that rules take, in bytes; longer ones are
	// answered with 413.
	maxContent = 1 << 20
	// maxKept bounds what is kept of all requests under way, in bytes. More are refused.
	maxKept = 1 << 30
)

// keptCall is a request under way of which all is kept.
type keptCall struct {
	rules.Call
	bytes int // as calls counts them
}

// calls are the requests under way, and those to be used again.
type calls struct {
	free []*keptCall
	kept int // bytes of the requests under way and of their answers
}

// full reports that no more requests may be begun.
func (k *calls) full() bool { return k.kept >= maxKept }

// maxFree bounds the calls that wait to be used again.
const maxFree = 1024

func (k *calls) take() *keptCall {
	n := len(k.free)
	if n == 0 {
		return &keptCall{}
	}
	c := k.free[n-1]
	k.free = k.free[:n-1]
	return c
}

func (k *calls) weigh(c *keptCall, bytes int) {
	c.bytes += bytes
	k.kept += bytes
}

func (k *calls) addField(c *keptCall, name, value []byte) {
	k.weigh(c, len(name)+len(value))
	c.AddField(name, value)
}

// addBody keeps a piece of content. Of one that is too long it keeps a byte over the bound. ok is
// false when there is no memory for it.
func (k *calls) addBody(c *keptCall, p []byte) (ok bool) {
	p = p[:min(len(p), maxContent+1-len(c.Content()))]
	if k.kept+len(p) > maxKept {
		return false
	}
	k.weigh(c, len(p))
	c.AddBody(p)
	return true
}

func (k *calls) release(x *exchange) {
	c := x.call
	if c == nil {
		return
	}
	x.call = nil
	k.weigh(c, -c.bytes)
	if len(k.free) < maxFree {
		k.free = append(k.free, c)
	}
}

// keeps reports that requests are kept whole.
func (s *Server) keeps() bool { return s.want&protocol.WantHeaders != 0 }

// useRules makes ready for Options.Rules and Options.Record.
func (s *Server) useRules() error {
	if s.opts.Rules != nil {
		var err error
		if s.engine, err = rules.NewEngine(s.opts.Rules, s.opts.Seed); err != nil {
			return fmt.Errorf("target: %w", err)
		}
		s.count.rules = newRuleCounters(len(s.opts.Rules.Names()))
	}
	if s.opts.Record != nil {
		s.record = newRecorder(s.opts.Record)
	}
	if s.engine != nil || s.record != nil {
		s.want = protocol.WantHeaders | protocol.WantBody
	}
	return nil
}

// answerByRules decides what becomes of a complete request.
func (c *session) answerByRules(tok uint32, notFound bool) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	call, now := x.call, s.begin.Add(time.Duration(s.now))
	tooLong := len(call.Content()) > maxContent
	switch {
	case tooLong:
		s.engine.TooLarge(&call.Call, now)
	case notFound:
		s.engine.NotFound(&call.Call, now)
	default:
		s.engine.Answer(&call.Call, now)
	}
	due := s.now
	if call.Fate == rules.Answered {
		due = s.delay.due(s.now + int64(call.Delay))
	}
	s.record.write(c, x, time.Duration(due-s.now))
	if x.epoch == s.count.epoch && !tooLong && !notFound {
		s.count.rules.add(&call.Call)
	}
	if call.Fate != rules.Answered {
		c.spoil(tok, call.Fate)
		return
	}
	if due > s.now {
		s.calls.weigh(call, len(call.Block)+len(call.Body))
		s.hold(tok, due)
		return
	}
	s.respondByRules(tok)
}

// spoil lets a request go without an answer.
func (c *session) spoil(tok uint32, fate rules.Fate) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	id := x.id
	s.settle(x, &s.count.unanswered)
	s.release(tok)
	switch fate {
	case rules.Reset:
		c.owed--
		c.h2.ResetStream(id, http2.ErrCodeInternal)
	case rules.Close:
		c.cut = true
	}
}

// respondByRules hands a rule's answer to the session and lets go of the exchange.
func (s *Server) respondByRules(tok uint32) {
	x := &s.exchanges.slots[tok]
	c, call := x.conn, x.call
	buf := append(c.h2.Begin(), call.Block...)
	if c.h2.Respond(x.id, buf, call.Body) {
		c.owed--
		s.settle(x, &s.count.answered)
		if x.epoch == s.count.epoch {
			s.count.rules.byStatus[call.Status]++
		}
	} else {
		s.settle(x, &s.count.aborted)
	}
	if c.h2.Open() > c.owed {
		call.Detach() // a body is not sent whole yet, perhaps this one
	}
	s.release(tok)
}

// ruleCounters are counted per rule; unmatched is for none. byStatus counts what rules answered.
type ruleCounters struct {
	unmatched uint64
	byRule    []RuleCount
	byStatus  []uint64
}

// statuses is one more than the highest status a rule can answer.
const statuses = 600

func newRuleCounters(rules int) ruleCounters {
	if rules == 0 {
		return ruleCounters{}
	}
	return ruleCounters{byRule: make([]RuleCount, rules), byStatus: make([]uint64, statuses)}
}

func (k *ruleCounters) add(call *rules.Call) {
	if call.Rule < 0 {
		k.unmatched++
		return
	}
	n := &k.byRule[call.Rule]
	n.Matches++
	switch {
	case call.Fate == rules.Unanswered:
		n.Unanswered++
	case call.Fate == rules.Reset:
		n.Reset++
	case call.Fate == rules.Close:
		n.Closed++
	case call.Failed:
		n.Failed++
	}
}

func (k *ruleCounters) snapshot(names []string) *RuleStats {
	st := &RuleStats{Unmatched: k.unmatched, Rules: make([]RuleCount, len(names))}
	copy(st.Rules, k.byRule)
	for i, name := range names {
		st.Rules[i].Name = name
	}
	return st
}
