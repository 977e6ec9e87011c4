package notification

import (
	"bytes"
	"hash/maphash"
	"math"
	"time"

	"github.com/h2surge/h2surge/internal/ring"
)

// Counts are of all notifications of a listener and of all steps that waited. They satisfy two equations:
//
//	notifications = InTime + Late + Duplicate + Unexpected + Answered + (early ones)
//	steps = InTime + Missing + WaitingAtEnd + (waiting ones)
type Counts struct {
	// InTime are notifications that a step received.
	InTime int64
	// Late, Duplicate and Unexpected are notifications for which no step waited within Config.Keep. Late ones came after
	// the timeout of a step with their key, duplicates after another notification with their key.
	// Answered are like Unexpected, but a rule answered them.
	Late, Duplicate, Unexpected, Answered int64
	// Missing are steps whose timeout passed without a notification.
	Missing int64
	// WaitingAtEnd are steps that waited when the run ended.
	WaitingAtEnd int64
}

// Config is what a Table is made from.
type Config struct {
	// Timeouts are the distinct timeouts of the steps.
	Timeouts []time.Duration
	// Keep is how long an entry that no step waits for is kept: an early one for a step to come, the others to recognise
	// late and duplicate notifications.
	Keep time.Duration
	// MaxEntries and MaxEarly bound all entries and the early ones, and MaxEarlySize the octets of the early ones, so that
	// a peer cannot fill the memory. No step can take an early notification beyond a bound. Beyond MaxEntries, entries are
	// freed when they are received or missing.
	MaxEntries, MaxEarly, MaxEarlySize int
	// Missed is called by Expire for each step whose timeout has passed. It may call Await.
	Missed func(Waiter)
	// Discard is called for each early notification that no step has taken.
	Discard func(Notification)
}

// Waiter is a step that waits, as the caller knows it.
type Waiter struct {
	Instance, Step int32
	// Since is when the request was sent that causes the notification.
	Since int64
	// Began is when the chain instance of the step began. A notification that came before is that of another instance.
	Began int64
}

// Notification is an early notification, as the caller knows it.
type Notification struct {
	Handle int32
	// At is when it came.
	At int64
	// Size is what it takes, in octets.
	Size int
	// IsAnswered is true if a rule answered it.
	IsAnswered bool
}

// Table has the entries of a listener. Entries with the same key are in the order in which they began: if several steps
// wait for the same key, the one that has waited longest gets the notification. If several notifications have the same
// key, a step gets the first one that came since its instance began.
type Table struct {
	cfg     Config
	counts  Counts
	entries []entry
	free    int32 // first of the free list, index plus one
	inUse   int
	// early and earlySize are the number and the octets of the early notifications, waiting is the number of the waiting
	// steps.
	early, earlySize, waiting int
	// behind is the number of the waiting steps that an early notification with their key is too old for.
	behind int
	// until is Config.Keep after the last wait ended.
	until int64
	seed  maphash.Seed
	// first is the first entry of each hash.
	first map[uint64]int32
	// expiries have the entries in the order of their ends, one queue for each duration. The last is that of Keep.
	expiries []expiries
}

type entry struct {
	state state
	// incarnation changes with each state, so that earlier expiries have no effect.
	incarnation uint32
	hash        uint64
	key         []byte
	// next and prev are the entries of the same hash, or of the free list; index plus one. prev of the first is the last.
	next, prev int32
	waiter     Waiter
	early      Notification
	// leftOver is what an early notification counts as if no step takes it.
	leftOver counter
	// isBehind is true for those that Table.behind counts.
	isBehind bool
}

// expiries is a queue of entries that all last equally long.
type expiries struct {
	after int64
	ring.Ring[expiry]
}

type expiry struct {
	at          int64
	entry       int32
	incarnation uint32
}

// never is an instant that does not come.
const never = math.MaxInt64

// New makes an empty table.
func New(cfg Config) *Table {
	t := &Table{cfg: cfg, seed: maphash.MakeSeed(), first: map[uint64]int32{}}
	for _, d := range append(cfg.Timeouts[:len(cfg.Timeouts):len(cfg.Timeouts)], cfg.Keep) {
		t.expiries = append(t.expiries, expiries{after: int64(d)})
	}
	return t
}

// Counts returns the counts so far.
func (t *Table) Counts() Counts { return t.counts }

// Waiting returns how many steps wait.
func (t *Table) Waiting() int { return t.waiting }

// Early returns how many notifications have not been taken by a step.
func (t *Table) Early() int { return t.early }

// Until returns when no late notification is expected any more: Config.Keep after the last wait ended. It is a time
// that does not come while a step waits. Notifications that no step awaits do not change it.
func (t *Table) Until() int64 {
	if t.waiting > 0 {
		return never
	}
	return t.until
}

// Await begins to wait for a key until the timeout with this index has passed. If an early notification has the key,
// the step receives it now: ok is true, and the table does not keep the waiter.
func (t *Table) Await(key []byte, timeout int, w Waiter, now int64) (n Notification, ok bool) {
	hash := maphash.Bytes(t.seed, key)
	i, older := t.oldestEarly(hash, key, w.Began)
	if i != none {
		n = t.entries[i].early
		t.handle(i, awaited, now)
		return n, true
	}
	i = t.begin(hash, key)
	t.entries[i].waiter, t.entries[i].isBehind = w, older
	t.entries[i].move(waiting)
	t.waiting++
	if older {
		t.behind++
	}
	t.expire(i, timeout, now)
	return n, false
}

// Outcome is what has become of a notification.
type Outcome uint8

const (
	// Received: the step that waited for it has it.
	Received Outcome = iota
	// Kept: no step waits for it. The table has the handle until a step takes it, or until Discard gets it.
	Kept
	// Dropped: it is beyond a bound of Config, and counted.
	Dropped
)

// Notified takes a notification. With Received, w is the step.
func (t *Table) Notified(key []byte, n Notification) (w Waiter, o Outcome) {
	hash := maphash.Bytes(t.seed, key)
	i, leftOver := t.longestWaiting(hash, key)
	if i != none {
		w = t.entries[i].waiter
		t.handle(i, notified, n.At)
		return w, Received
	}
	if n.IsAnswered && leftOver == countUnexpected {
		leftOver = countAnswered
	}
	if t.early >= t.cfg.MaxEarly || t.earlySize+n.Size > t.cfg.MaxEarlySize || t.inUse >= t.cfg.MaxEntries {
		t.count(leftOver)
		return w, Dropped
	}
	i = t.begin(hash, key)
	t.entries[i].early, t.entries[i].leftOver = n, leftOver
	t.entries[i].move(early)
	t.early++
	t.earlySize += n.Size
	t.expire(i, len(t.expiries)-1, n.At)
	return w, Kept
}

// NoKey counts a notification that has no key.
func (t *Table) NoKey(isAnswered bool) {
	if isAnswered {
		t.count(countAnswered)
		return
	}
	t.count(countUnexpected)
}

// Next returns when Expire must be called, or a time that does not come.
func (t *Table) Next() int64 {
	at := int64(never)
	for i := range t.expiries {
		q := &t.expiries[i]
		for q.Len() > 0 && t.isStale(q.Front()) {
			q.Pop()
		}
		if q.Len() > 0 {
			at = min(at, q.Front().at)
		}
	}
	return at
}

// Expire ends what has lasted its time.
func (t *Table) Expire(now int64) {
	for i := range t.expiries {
		for q := &t.expiries[i]; q.Len() > 0 && q.Front().at <= now; {
			if x := q.Pop(); !t.isStale(x) {
				t.end(x.entry, expired, now)
			}
		}
	}
}

// Abandon ends all waits and discards the early notifications, because the run is over. Missed is not called.
func (t *Table) Abandon(now int64) {
	for i := range t.entries {
		if s := t.entries[i].state; s == waiting || s == early {
			t.end(int32(i), abandoned, now)
		}
	}
}

// end handles an event that ends a state, and calls Discard or Missed.
func (t *Table) end(i int32, on event, now int64) {
	e := &t.entries[i]
	was, w, n := e.state, e.waiter, e.early
	t.handle(i, on, now)
	switch {
	case was == early:
		t.cfg.Discard(n)
	case was == waiting && on == expired:
		t.cfg.Missed(w)
	}
}

// handle takes an entry along the edge of an event.
func (t *Table) handle(i int32, on event, now int64) {
	e := &t.entries[i]
	edge := next[e.state][on]
	if edge.counts == countLeftOver {
		t.count(e.leftOver)
	} else {
		t.count(edge.counts)
	}
	switch e.state {
	case waiting:
		t.waiting--
		if e.isBehind {
			e.isBehind = false
			t.behind--
		}
	case early:
		t.early--
		t.earlySize -= e.early.Size
	case free, received, missing:
	}
	if e.state == waiting || edge.to == received {
		t.until = now + int64(t.cfg.Keep)
	}
	e.move(edge.to)
	if e.state != free && t.inUse <= t.cfg.MaxEntries {
		t.expire(i, len(t.expiries)-1, now)
		t.forget(i)
		return
	}
	e.move(free)
	t.release(i)
}

// forget frees an older entry of the same key that no step waits for any more: one is enough to recognise late and
// duplicate notifications, also where many steps wait for the same key.
func (t *Table) forget(i int32) {
	e := &t.entries[i]
	for k := t.first[e.hash] - 1; k != none; k = t.entries[k].next - 1 {
		if o := &t.entries[k]; k != i && (o.state == received || o.state == missing) && bytes.Equal(o.key, e.key) {
			o.move(free)
			t.release(k)
			return
		}
	}
}

func (t *Table) count(c counter) {
	switch c {
	case nothing, countLeftOver:
	case countInTime:
		t.counts.InTime++
	case countDuplicate:
		t.counts.Duplicate++
	case countLate:
		t.counts.Late++
	case countUnexpected:
		t.counts.Unexpected++
	case countAnswered:
		t.counts.Answered++
	case countMissing:
		t.counts.Missing++
	case countWaitingAtEnd:
		t.counts.WaitingAtEnd++
	}
}

func (e *entry) move(to state) {
	e.state = to
	e.incarnation++
}

const none int32 = -1

// oldestEarly returns the oldest early notification of a key that came at an instant or later, or none. older reports
// whether one came before.
func (t *Table) oldestEarly(hash uint64, key []byte, since int64) (i int32, older bool) {
	if t.early == 0 {
		return none, false
	}
	for i = t.first[hash] - 1; i != none; i = t.entries[i].next - 1 {
		e := &t.entries[i]
		if e.state != early || !bytes.Equal(e.key, key) {
			continue
		}
		if e.early.At >= since {
			return i, older
		}
		older = true
	}
	return none, older
}

// longestWaiting returns the step that has waited longest for a key, or none. leftOver is what a notification with the
// key counts as if no step takes it.
func (t *Table) longestWaiting(hash uint64, key []byte) (i int32, leftOver counter) {
	leftOver = countUnexpected
	for i = t.first[hash] - 1; i != none; i = t.entries[i].next - 1 {
		e := &t.entries[i]
		if !bytes.Equal(e.key, key) {
			continue
		}
		switch e.state {
		case waiting:
			return i, leftOver
		case early:
			if leftOver = countDuplicate; t.behind == 0 {
				return none, leftOver
			}
		case received:
			leftOver = countDuplicate
		case missing:
			if leftOver == countUnexpected {
				leftOver = countLate
			}
		case free:
		}
	}
	return none, leftOver
}

// begin returns a record for a key, which is the last of its hash.
func (t *Table) begin(hash uint64, key []byte) int32 {
	i := t.free - 1
	if i == none {
		t.entries = append(t.entries, entry{})
		i = int32(len(t.entries) - 1)
	} else {
		t.free = t.entries[i].next
	}
	t.inUse++
	e := &t.entries[i]
	e.hash, e.next, e.prev = hash, 0, 0
	e.key = append(e.key[:0], key...)
	first := t.first[hash] - 1
	if first == none {
		t.first[hash], e.prev = i+1, i+1
		return i
	}
	last := t.entries[first].prev - 1
	t.entries[last].next, e.prev = i+1, last+1
	t.entries[first].prev = i + 1
	return i
}

// release puts a record into the free list.
func (t *Table) release(i int32) {
	e := &t.entries[i]
	first := t.first[e.hash] - 1
	switch {
	case first != i:
		t.entries[e.prev-1].next = e.next
	case e.next != 0:
		t.first[e.hash] = e.next
	default:
		delete(t.first, e.hash)
	}
	switch {
	case e.next != 0:
		t.entries[e.next-1].prev = e.prev
	case first != i:
		t.entries[first].prev = e.prev
	}
	e.next, e.prev, t.free = t.free, 0, i+1
	t.inUse--
}

// isStale reports that the entry of an expiry has changed its state.
func (t *Table) isStale(x expiry) bool { return t.entries[x.entry].incarnation != x.incarnation }

// expire lets an entry expire after the duration with this index.
func (t *Table) expire(i int32, duration int, now int64) {
	q := &t.expiries[duration]
	q.Push(expiry{at: now + q.after, entry: i, incarnation: t.entries[i].incarnation})
}
