package book

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/pace"
)

// model is a book in plain lists: the requests that wait, by target, those that are reserved, and those in flight, by
// timeout, in the order of sending.
type model struct {
	waiting  [2][]ID
	reserved []ID
	inFlight [2][]ID
}

var timeouts = []int64{30, 70}

const maxWait = 50

// TestBook compares random events with the model.
func TestBook(t *testing.T) {
	p := &chain.Program{Timeouts: timeouts, Steps: []chain.Step{{TimeoutClass: 0}, {TimeoutClass: 1}}}
	b, m := New(p, 2, maxWait*time.Nanosecond), model{}
	r := rand.New(rand.NewPCG(1, 2))
	for now := int64(1); now < 100_000; now++ {
		target, class := r.Int32N(2), r.IntN(2)
		switch r.IntN(7) {
		case 0, 1:
			id := b.Add(chain.Activation{Step: r.Int32N(2)}, target, now-r.Int64N(3), now, 0)
			b.Wait(id)
			m.waiting[target] = append(m.waiting[target], id)
		case 2:
			if b.Waiting(target) > 0 {
				id := b.Pop(target)
				if want := m.waiting[target][0]; id != want {
					t.Fatalf("popped %d, want %d", id, want)
				}
				m.waiting[target] = m.waiting[target][1:]
				b.Sent(id, 1, 1, now)
				step := b.At(id).Step
				m.inFlight[step] = append(m.inFlight[step], id)
			}
		case 3:
			if n := len(m.inFlight[class]); n > 0 {
				i := r.IntN(n)
				id := m.inFlight[class][i]
				m.inFlight[class] = slices.Delete(m.inFlight[class], i, i+1)
				if q := b.At(id); b.MayRetry(q, now) {
					b.GiveBack(id, "a")
					m.waiting[q.Target] = slices.Insert(m.waiting[q.Target], 0, id)
				} else {
					b.End(id)
				}
			}
		case 4:
			m.expire(t, &b, now)
			m.dropOverdue(t, &b, target, now)
		case 5:
			if b.Waiting(target) > 0 {
				id := b.Pop(target)
				b.Reserve(id)
				m.waiting[target], m.reserved = m.waiting[target][1:], append(m.reserved, id)
			}
		case 6:
			if b.Reserved() > 0 {
				id := b.PopReserved()
				b.WaitAgain(id)
				m.waitAgain(&b, id)
			}
		}
		m.check(t, &b)
	}
	for target := range int32(2) {
		for b.PopOverdue(target, pace.Never) != None {
			m.waiting[target] = m.waiting[target][1:]
		}
		if n := len(m.waiting[target]); n > 0 {
			t.Errorf("%d requests still wait for target %d", n, target)
		}
	}
}

// waitAgain lets a request that was reserved wait for any connection. The requests that are scheduled before it or were
// given back remain before it.
func (m *model) waitAgain(b *Book, id ID) {
	m.reserved = slices.DeleteFunc(m.reserved, func(i ID) bool { return i == id })
	r := b.At(id)
	q := &m.waiting[r.Target]
	at := slices.IndexFunc(*q, func(other ID) bool { o := b.At(other); return r.Retried || !o.Retried && o.Due > r.Due })
	if at < 0 {
		at = len(*q)
	}
	*q = slices.Insert(*q, at, id)
}

func (m *model) expire(t *testing.T, b *Book, now int64) {
	for id := b.Expired(now); id != None; id = b.Expired(now) {
		class := b.At(id).Step
		if want := m.inFlight[class][0]; id != want || b.At(id).Sent+timeouts[class] > now {
			t.Fatalf("%d has expired, want %d", id, want)
		}
		m.inFlight[class] = m.inFlight[class][1:]
		b.End(id)
	}
	for class, ids := range m.inFlight {
		if len(ids) > 0 && b.At(ids[0]).Sent+timeouts[class] <= now {
			t.Fatalf("%d has not expired", ids[0])
		}
	}
}

func (m *model) dropOverdue(t *testing.T, b *Book, target int32, now int64) {
	for id := b.PopOverdue(target, now); id != None; id = b.PopOverdue(target, now) {
		if want := m.waiting[target][0]; id != want || b.At(id).Due+maxWait > now {
			t.Fatalf("%d has waited too long, want %d", id, want)
		}
		m.waiting[target] = m.waiting[target][1:]
		b.End(id)
	}
	if w := m.waiting[target]; len(w) > 0 && b.At(w[0]).Due+maxWait <= now {
		t.Fatalf("%d was not dropped", w[0])
	}
}

// check compares what follows from the lists.
func (m *model) check(t *testing.T, b *Book) {
	t.Helper()
	overdue, expiry, outstanding := int64(pace.Never), int64(pace.Never), 0
	for target, ids := range m.waiting {
		if n := b.Waiting(int32(target)); n != len(ids) {
			t.Fatalf("%d requests wait, want %d", n, len(ids))
		}
		if len(ids) > 0 {
			overdue = min(overdue, b.At(ids[0]).Due+maxWait)
		}
		for _, id := range ids {
			if b.At(id).Retried {
				outstanding++
			}
		}
	}
	for _, id := range m.reserved {
		if b.At(id).Retried {
			outstanding++
		}
	}
	for class, ids := range m.inFlight {
		outstanding += len(ids)
		if len(ids) > 0 {
			expiry = min(expiry, b.At(ids[0]).Sent+timeouts[class])
		}
	}
	got := 0
	b.Outstanding(func(*Request) { got++ })
	if b.NextOverdue(2) != overdue || b.NextExpiry() != expiry || got != outstanding || b.AnyInFlight() != (expiry != pace.Never) {
		t.Fatalf("overdue %d, expiry %d, outstanding %d, any in flight %v; want %d, %d, %d", b.NextOverdue(2), b.NextExpiry(), got, b.AnyInFlight(), overdue, expiry, outstanding)
	}
	if want := len(m.waiting[0]) + len(m.waiting[1]) + len(m.reserved) + len(m.inFlight[0]) + len(m.inFlight[1]); b.InUse() != want {
		t.Fatalf("%d requests in use, want %d", b.InUse(), want)
	}
}
