package tally

import "github.com/h2surge/h2surge/runner/book"

// Many requests change the counters as the one before does: a turn has sent them together, and one read brings their
// responses. The recorder counts such requests in a row, and changes the counters once for all of them: before another
// one, and at the end of the turn.

// sameSent is n requests in a row that were sent alike.
type sameSent struct {
	n             int64
	step          int32
	stage         int16
	over          bool
	down, blocked int64
}

// covers returns whether a request was sent as those in s.
func (s *sameSent) covers(q *book.Request, over bool, down, blocked int64) bool {
	return s.blocked == blocked && s.down == down && s.step == q.Step && s.stage == q.Stage && s.over == over
}

// sameDone is n whole responses in a row that are alike.
type sameDone struct {
	n                     int64
	step                  int32
	status                int16
	due, sent, first, now int64
	failed                string
}

// covers returns whether a response is as those in s.
func (s *sameDone) covers(q *book.Request, failed string, now int64) bool {
	return s.due == q.Due && s.sent == q.Sent && s.first == q.First && s.now == now && s.step == q.Step &&
		s.status == q.Status && s.failed == failed
}

// Flush brings the counters up to date. It is called at the end of each turn.
func (r *Recorder) Flush() {
	r.flushSent()
	r.flushDone()
}

func (r *Recorder) flushSent() {
	s := &r.sent
	n := s.n
	if n == 0 {
		return
	}
	s.n = 0
	st := &r.Stages[s.stage]
	st.Sent += n
	if s.over {
		st.SentInDrain += n
	}
	if r.warmUp[s.stage] {
		r.WarmUpSent += n
		return
	}
	r.Steps[s.step].Sent += n
	t := &r.Targets[r.program.Steps[s.step].Target]
	t.Reconnecting.RecordN(s.down/1000, n)
	t.Blocked.RecordN(s.blocked/1000, n)
}

func (r *Recorder) flushDone() {
	s := &r.done
	n := s.n
	if n == 0 {
		return
	}
	s.n = 0
	st := &r.Steps[s.step]
	st.Occupied += n * (s.now - s.sent)
	st.Done += n
	if s.failed == "" {
		st.Succeeded += n
	} else {
		st.FailedChecks += n
		st.FailedBy.Add(s.failed, n)
		st.FailedResponseTime.RecordN((s.now-s.due)/1000, n)
	}
	st.Codes.Add(int(s.status), n)
	st.ResponseTime.RecordN((s.now-s.due)/1000, n)
	st.ServiceTime.RecordN((s.now-s.sent)/1000, n)
	st.TimeToFirstByte.RecordN((s.first-s.sent)/1000, n)
	r.Targets[r.program.Steps[s.step].Target].Body.RecordN((s.now-s.first)/1000, n)
}
