package listen

import (
	"fmt"
	"log/slog"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/notification"
)

// Config is what Listeners are made from.
type Config struct {
	// Plans are the listeners of the program. Callers are what they require of their peers; nil, and beyond its end:
	// nothing.
	Plans   []chain.Listener
	Callers []*caller.Policy
	// Seed is that of the random values and choices of rules.
	Seed uint64
	Net  netio.Net
	Host Host
	// Recorder counts octets.
	Recorder *measure.Recorder
	// Wall returns the time of the turn in nanoseconds since 1970.
	Wall func() int64
	Log  *slog.Logger
}

// Host is whose steps wait for the notifications.
type Host interface {
	// Arrived ends a wait. The notification came at an instant, and is valid during the call. It returns whether the
	// notification failed a check of the step.
	Arrived(to notification.Waiter, x *book.Exchange, at int64) (failed bool)
	// Missed ends a wait whose timeout has passed.
	Missed(of notification.Waiter)
}

// Listeners are a worker's servers for notifications, with the connections that peers have opened to them. A connection
// is served as long as the worker runs.
type Listeners struct {
	net  netio.Net
	log  *slog.Logger
	host Host
	rec  *measure.Recorder
	wall func() int64
	// now is the time of the turn.
	now       int64
	exchanges book.Exchanges
	all       []listener
	// conns has the records. The poller has an event's data of FirstData plus the index. free are the records that may be
	// used again, closed those that may be after the turn.
	conns        []*served
	free, closed []int32
	// dirty connections may have octets to send.
	dirty []int32
	// open are the notifications whose octets have not all come. kept are the whole ones: those that no step awaits yet,
	// and one that is being handled.
	open, kept notices
	answers    answers
	// opened is the number of connections so far.
	opened uint64
	// key is that of one notification, read what was read from one socket.
	key, read []byte
	// plain is what TLS has decrypted; nil: no listener has TLS.
	plain []byte
	// ended: the worker has closed its connections, and serves no other. overloaded: a connection or a notification above
	// a limit was logged.
	ended, overloaded bool
}

// listener is a server for notifications.
type listener struct {
	plan  *chain.Listener
	table *notification.Table
	// received are the notifications so far, awaited the steps that began to wait, and failed the notifications that
	// failed a check.
	received, awaited, failed int64
	// callers checks the peers. refusedToken and refusedCertificate are the notifications that it has refused.
	callers *caller.Checker
	// rules are nil if the listener has none.
	rules                            *answerer
	refusedToken, refusedCertificate int64
	// warned: a peer that broke the protocol was logged.
	warned bool
}

const (
	// readSize is the size of the read buffer.
	readSize = 256 << 10
	// maxKeys bounds the keys of a listener that are kept to recognise late and duplicate notifications. It takes some
	// 100 MiB.
	maxKeys = 1 << 20
	// maxEarly bounds the notifications of a listener that no step awaits yet, and maxEarlySize the memory for those of
	// all listeners.
	maxEarly, maxEarlySize = 1 << 14, 64 << 20
)

// New makes listeners without connections. It returns an error if the top level of a script of a rule fails.
func New(cfg Config) (*Listeners, error) {
	ls := &Listeners{
		net: cfg.Net, log: cfg.Log, host: cfg.Host, rec: cfg.Recorder, wall: cfg.Wall,
		exchanges: book.NewExchanges(MaxIncoming, largestFree),
	}
	for i := range cfg.Plans {
		var policy *caller.Policy
		if i < len(cfg.Callers) {
			policy = cfg.Callers[i]
		}
		l := ls.newListener(&cfg.Plans[i], policy, maxEarlySize/len(cfg.Plans))
		var err error
		if l.rules, err = newAnswerer(l.plan.Rules, cfg.Seed+uint64(i)); err != nil {
			return nil, fmt.Errorf("listener %s: %w", l.plan.Name, err)
		}
		ls.all = append(ls.all, l)
	}
	if len(ls.all) > 0 {
		ls.read = make([]byte, readSize)
	}
	return ls, nil
}

func (ls *Listeners) newListener(p *chain.Listener, policy *caller.Policy, maxEarlySize int) listener {
	return listener{plan: p, callers: caller.NewChecker(policy), table: notification.New(notification.Config{
		Timeouts: p.Timeouts, Keep: p.Retention, MaxEntries: maxKeys, MaxEarly: maxEarly, MaxEarlySize: maxEarlySize,
		Missed:  ls.host.Missed,
		Discard: func(n notification.Notification) { ls.exchanges.Release(ls.takeEarly(n.Handle).x) },
	})}
}

// Begin sets the time of the turn.
func (ls *Listeners) Begin(now int64) { ls.now = now }

// Await begins to wait for a notification with a key, until the timeout with this index has passed. The notification
// may have come already.
func (ls *Listeners) Await(i int, key []byte, timeout int, from notification.Waiter) {
	l := &ls.all[i]
	l.awaited++
	if n, ok := l.table.Await(key, timeout, from, ls.now); ok {
		ls.arrived(l, from, ls.whole(ls.takeEarly(n.Handle)), n.At)
	}
}

// notified takes a whole notification, and owns its exchange.
func (ls *Listeners) notified(l *listener, n notice, isAnswered bool) {
	l.received++
	key, ok := l.plan.AppendKey(ls.key[:0], &n.x.Exchange)
	ls.key = key
	if !ok || isAnswered && len(l.plan.Timeouts) == 0 {
		l.table.NoKey(isAnswered)
		ls.exchanges.Release(n.x)
		return
	}
	handle := ls.kept.put(n)
	to, outcome := l.table.Notified(key, notification.Notification{Handle: handle, At: ls.now, Size: n.x.LentSize(),
		IsAnswered: isAnswered})
	switch outcome {
	case notification.Kept:
		ls.exchanges.Lend(n.x) // so that early ones do not keep others out
	case notification.Received:
		ls.arrived(l, to, ls.kept.take(handle).x, ls.now)
	case notification.Dropped:
		ls.exchanges.Release(ls.kept.take(handle).x)
	}
}

// arrived ends a wait with its notification.
func (ls *Listeners) arrived(l *listener, to notification.Waiter, x *book.Exchange, at int64) {
	if ls.host.Arrived(to, x, at) {
		l.failed++
	}
	ls.exchanges.Release(x)
}

// Expire ends the waits whose timeout has passed, and sends the answers whose delay has.
func (ls *Listeners) Expire() {
	ls.sendDelayed()
	for i := range ls.all {
		if t := ls.all[i].table; t.Next() <= ls.now {
			t.Expire(ls.now)
		}
	}
}

// Next returns when a wait ends, an answer must be sent or, if the load is over, when Listens becomes false; else a
// time that does not come.
func (ls *Listeners) Next(over bool) int64 {
	next := ls.answers.delayed.Next()
	for i := range ls.all {
		t := ls.all[i].table
		next = min(next, t.Next())
		if until := t.Until(); over && until > ls.now {
			next = min(next, until)
		}
	}
	return next
}

// Listens returns whether a step waits for a notification, or the last one waited a short time ago, so that late and
// duplicate notifications may come. Other notifications have no effect: a target may send them without an end.
func (ls *Listeners) Listens() bool {
	return slices.ContainsFunc(ls.all, func(l listener) bool { return l.table.Until() > ls.now })
}

// Waits returns whether a step waits for a notification.
func (ls *Listeners) Waits() bool {
	return slices.ContainsFunc(ls.all, func(l listener) bool { return l.table.Waiting() > 0 })
}

// Counts returns the counts of all listeners.
func (ls *Listeners) Counts() (out []rv.ListenerCounts) {
	for i := range ls.all {
		l := &ls.all[i]
		c := l.table.Counts()
		out = append(out, rv.ListenerCounts{
			Received: l.received, InTime: c.InTime, FailedChecks: l.failed, Late: c.Late, Duplicate: c.Duplicate,
			Unexpected: c.Unexpected, Answered: c.Answered, ByRule: l.rules.byRule(),
			Early: int64(l.table.Early()), Awaited: l.awaited, Missing: c.Missing, Waiting: int64(l.table.Waiting()),
			WaitingAtEnd: c.WaitingAtEnd,
			RefusedToken: l.refusedToken, RefusedCertificate: l.refusedCertificate,
		})
	}
	return out
}

// Record lets another recorder count from now on.
func (ls *Listeners) Record(into *measure.Recorder) { ls.rec = into }

// Memory returns how much memory the notifications take that have not all come, or are being handled.
func (ls *Listeners) Memory() int { return ls.exchanges.InUse() }

// Held returns how many notifications have not all come, or wait for a step.
func (ls *Listeners) Held() int { return ls.open.len() + ls.kept.len() }

// Shrink releases memory that was not used since the last call.
func (ls *Listeners) Shrink() { ls.exchanges.Shrink() }

// CloseAll ends all waits and connections.
func (ls *Listeners) CloseAll() {
	for i := range ls.all {
		ls.all[i].table.Abandon(ls.now)
	}
	ls.ended = true
	for _, c := range ls.conns {
		if c.socket.IsOpen() {
			c.end()
		}
	}
}
