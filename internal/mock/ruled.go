package mock

import (
	"fmt"
	"time"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/internal/mock/notifier"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/protocol"
)

const (
	// maxContent is the largest content of a request that rules accept, in bytes. The answer to larger ones is 413.
	maxContent = 1 << 20
	// maxKept bounds the memory for all current requests, in bytes. The server refuses more requests.
	maxKept = 1 << 30
)

// keptCall is a current request that is stored completely.
type keptCall struct {
	rules.Call
	bytes int // counted in calls.kept
}

// calls counts the memory of the current requests, and has a pool of unused ones.
type calls struct {
	free []*keptCall
	kept int // bytes of the current requests and of their answers
}

// full returns true if the server must refuse new requests.
func (k *calls) full() bool { return k.kept >= maxKept }

// maxFree bounds the pool.
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

// addBody stores a piece of content. It stores at most one byte above maxContent, which shows that the content is too
// large. ok is false if maxKept is reached.
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
	k.put(c)
}

// put adds an unused call to the pool.
func (k *calls) put(c *keptCall) {
	if len(k.free) < maxFree {
		k.free = append(k.free, c)
	}
}

// keeps returns true if the server stores complete requests.
func (s *Server) keeps() bool { return s.want&protocol.WantHeaders != 0 }

// useRules prepares the server for Options.Rules and Options.Record.
func (s *Server) useRules() error {
	if s.opts.Rules != nil {
		var err error
		if s.engine, err = rules.NewEngine(s.opts.Rules, s.opts.Seed); err != nil {
			return fmt.Errorf("target: %w", err)
		}
		s.count.rules = newRuleCounters(len(s.opts.Rules.Names()))
		if names := s.opts.Rules.Notifications(); len(names) > 0 {
			s.notifier = notifier.New(names, s.opts.Rules.Sending())
		}
	}
	if s.opts.Record != nil {
		s.record = newRecorder(s.opts.Record)
	}
	if s.engine != nil || s.record != nil {
		s.want = protocol.WantHeaders | protocol.WantBody
	}
	return nil
}

// answerByRules answers a complete request by the rules, now or later.
func (c *session) answerByRules(tok uint32, notFound bool) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	call, now := x.call, s.begin.Add(time.Duration(s.now))
	call.HTTP1 = c.http1 != nil
	tooLong := len(call.Content()) > maxContent
	switch {
	case tooLong:
		s.engine.TooLarge(&call.Call, now)
	case notFound:
		s.engine.NotFound(&call.Call, now)
	default:
		s.engine.Answer(&call.Call, now)
	}
	if len(call.Notifications) > 0 {
		s.notifier.Add(call.Notifications, now)
	}
	due := s.now
	if call.Fate == rules.Answered {
		due = s.delay.due(s.now + int64(call.Delay))
	}
	s.record.write(c, x, time.Duration(due-s.now))
	if x.epoch == s.count.epoch && !tooLong && !notFound && !call.Streamed {
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

// spoil ends a request without an answer.
func (c *session) spoil(tok uint32, fate rules.Fate) {
	s := c.srv
	x := &s.exchanges.slots[tok]
	id := x.id
	s.settle(x, &s.count.unanswered)
	s.release(tok)
	switch {
	case c.http1 != nil:
		c.http1.answers <- http1Answer{fate: fate}
	case fate == rules.Reset:
		c.owed--
		c.h2.ResetStream(id, http2.ErrCodeInternal)
	case fate == rules.Close:
		c.cut = true
	}
}

// respondByRules gives a rule's answer to the session and releases the exchange.
func (s *Server) respondByRules(tok uint32) {
	x := &s.exchanges.slots[tok]
	c, call := x.conn, x.call
	if s.pauses(tok) {
		return
	}
	c.complete(x, &call.Call)
	if c.http1 != nil || c.h2.Open() > c.owed {
		call.Detach() // the session has not sent all bodies yet: this may be one of them
	}
	s.release(tok)
}

// complete gives the end of an answer to the session, and counts it.
func (c *session) complete(x *exchange, call *rules.Call) {
	s := c.srv
	ok := false
	if x.begun {
		ok = c.h2.RespondNext(x.id, call.Body) && c.h2.RespondEnd(x.id, call.AppendStatus(nil))
	} else {
		ok = c.send(x.id, append(c.beginHeader(), call.Block...), call.Body, call.Trailers)
	}
	if !ok {
		s.settle(x, &s.count.aborted)
		return
	}
	c.owed--
	s.settle(x, &s.count.answered)
	if x.epoch == s.count.epoch {
		s.count.rules.answered(call)
	}
}

// ruleCounters has the counts of each rule. unmatched counts requests without a rule, byStatus the answers of rules.
type ruleCounters struct {
	unmatched uint64
	byRule    []RuleCount
	byStatus  []uint64
	// byCode counts the answered calls of gRPC.
	byCode [rules.Codes]uint64
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

func (k *ruleCounters) answered(call *rules.Call) {
	k.byStatus[call.Status]++
	if call.Code >= 0 {
		k.byCode[call.Code]++
	}
}

func (k *ruleCounters) snapshot(names []string) *RuleStats {
	st := &RuleStats{Unmatched: k.unmatched, Rules: make([]RuleCount, len(names))}
	copy(st.Rules, k.byRule)
	for code, n := range k.byCode {
		if n > 0 && st.ByCode == nil {
			st.ByCode = map[string]uint64{}
		}
		if n > 0 {
			st.ByCode[rules.CodeName(code)] = n
		}
	}
	for i, name := range names {
		st.Rules[i].Name = name
	}
	return st
}
