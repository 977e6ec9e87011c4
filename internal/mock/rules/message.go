package rules

import (
	"slices"
	"time"

	"github.com/h2surge/h2surge/internal/reflection"
	"github.com/h2surge/h2surge/runner/grpc"
)

// AnswersEach returns whether messages of a call are answered when they arrive: a rule with eachMessage matches its
// path, or it is one of server reflection. The call needs its header fields only.
func (e *Engine) AnswersEach(c *Call) bool {
	if e.identify(c); !c.called {
		return false
	}
	return c.rpc == nil && reflection.Serves(string(c.path)) ||
		slices.ContainsFunc(e.set.exact[string(c.path)], func(r *rule) bool { return r.each })
}

// AnswerMessage sets the outcome and the answer of the first message of what was added to a stream, whose size it
// returns. The size is 0 if the message is not complete. The answer is Unanswered if no rule matches the message.
func (e *Engine) AnswerMessage(c, stream *Call, added []byte, now time.Time) (size int) {
	if size = grpc.Size(added); size == 0 {
		return 0
	}
	c.Begin(stream.method, stream.target)
	stream.EachField(c.AddField)
	c.AddBody(added[:size])
	c.single, c.now = true, now
	defer e.finishCall(c)
	e.identify(c)
	if c.rpc == nil && reflection.Serves(string(c.path)) {
		c.head(200)
		c.messages = reflection.AppendAnswer(c.messages[:0], e.set.schema.Files(), c.body)
		c.Body = c.messages
		return size
	}
	if !e.decode(c) {
		return size
	}
	if r := e.set.find(c); r != nil {
		e.follow(c, r)
	} else {
		c.Fate = Unanswered
	}
	return size
}

// streamed ends a call whose messages were answered one by one.
func (c *Call) streamed() {
	c.head(200)
	c.Streamed = true
}

// Ends returns whether the answer to a message of a stream ends the call: it is not OK, or the method has one answer.
func (c *Call) Ends() bool { return c.Code != codeOK || c.rpc != nil && !c.rpc.SendsStream() }
