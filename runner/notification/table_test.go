package notification

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bench is a table whose callbacks are written down. Times are in milliseconds.
type bench struct {
	*Table
	log []string
	now int64
}

const ms = int64(time.Millisecond)

func newBench() *bench {
	b := &bench{}
	b.Table = New(Config{
		Timeouts: []time.Duration{100 * time.Millisecond, time.Second}, Keep: 300 * time.Millisecond, MaxEntries: 1000, MaxEarly: 2, MaxEarlySize: 100,
		Missed:  func(w Waiter) { b.say("missed %d", w.Instance) },
		Discard: func(n Notification) { b.say("discarded %d", n.Handle) },
	})
	return b
}

func (b *bench) say(format string, args ...any) { b.log = append(b.log, fmt.Sprintf(format, args...)) }

func (b *bench) await(key string, instance int32, timeout int) {
	if n, ok := b.Await([]byte(key), timeout, Waiter{Instance: instance}, b.now*ms); ok {
		b.say("%d takes %d of %d ms", instance, n.Handle, n.At/ms)
	}
}

// awaitLater awaits as an instance that begins now.
func (b *bench) awaitLater(key string, instance int32, timeout int) {
	if n, ok := b.Await([]byte(key), timeout, Waiter{Instance: instance, Began: b.now * ms}, b.now*ms); ok {
		b.say("%d takes %d of %d ms", instance, n.Handle, n.At/ms)
	}
}

func (b *bench) notify(key string, handle int32) { b.notifySized(key, handle, 10) }

func (b *bench) notifySized(key string, handle int32, size int) {
	w, o := b.Notified([]byte(key), Notification{Handle: handle, At: b.now * ms, Size: size})
	switch o {
	case Received:
		b.say("%d received", w.Instance)
	case Kept:
		b.say("kept %d", handle)
	case Dropped:
		b.say("dropped %d", handle)
	}
}

func (b *bench) at(now int64) {
	b.now = now
	b.Expire(now * ms)
}

func TestTable(t *testing.T) {
	tests := map[string]struct {
		do   func(*bench)
		want string
		then Counts
	}{
		"in time": {func(b *bench) { b.await("/a", 1, 0); b.notify("/a", 1) }, "1 received", Counts{InTime: 1}},
		"of two keys": {
			func(b *bench) { b.await("/a", 1, 0); b.await("/b", 2, 0); b.notify("/b", 1); b.notify("/a", 2) },
			"2 received, 1 received", Counts{InTime: 2},
		},
		"before its step": {func(b *bench) { b.notify("/a", 7); b.at(50); b.await("/a", 1, 0) }, "kept 7, 1 takes 7 of 0 ms", Counts{InTime: 1}},
		"twice":           {func(b *bench) { b.await("/a", 1, 0); b.notify("/a", 1); b.notify("/a", 2); b.at(300) }, "1 received, kept 2, discarded 2", Counts{InTime: 1, Duplicate: 1}},
		"twice before its step": {
			func(b *bench) { b.notify("/a", 1); b.notify("/a", 2); b.await("/a", 1, 0); b.at(300) },
			"kept 1, kept 2, 1 takes 1 of 0 ms, discarded 2", Counts{InTime: 1, Duplicate: 1},
		},
		"late": {
			func(b *bench) { b.await("/a", 1, 0); b.at(100); b.notify("/a", 1); b.at(399); b.at(400) },
			"missed 1, kept 1, discarded 1", Counts{Missing: 1, Late: 1},
		},
		"just in time": {func(b *bench) { b.await("/a", 1, 0); b.at(99); b.notify("/a", 1); b.at(200) }, "1 received", Counts{InTime: 1}},
		"too late to be known": {
			func(b *bench) { b.await("/a", 1, 0); b.at(100); b.at(400); b.notify("/a", 1); b.at(700) },
			"missed 1, kept 1, discarded 1", Counts{Missing: 1, Unexpected: 1},
		},
		"unexpected": {func(b *bench) { b.notify("/a", 3); b.at(300) }, "kept 3, discarded 3", Counts{Unexpected: 1}},
		"too many unexpected": {
			func(b *bench) { b.notify("/a", 1); b.notify("/b", 2); b.notify("/c", 3) },
			"kept 1, kept 2, dropped 3", Counts{Unexpected: 1},
		},
		"large and unexpected": {
			func(b *bench) {
				b.notifySized("/a", 1, 60)
				b.notifySized("/b", 2, 41)
				b.at(300)
				b.notifySized("/c", 3, 100)
			},
			"kept 1, dropped 2, discarded 1, kept 3", Counts{Unexpected: 2},
		},
		"large and awaited": {func(b *bench) { b.await("/a", 1, 0); b.notifySized("/a", 1, 1000) }, "1 received", Counts{InTime: 1}},
		"two steps with one key": {
			func(b *bench) {
				b.await("/a", 1, 1)
				b.await("/a", 2, 0)
				b.notify("/a", 1)
				b.notify("/a", 2)
				b.notify("/a", 3)
				b.at(300)
			},
			"1 received, 2 received, kept 3, discarded 3", Counts{InTime: 2, Duplicate: 1},
		},
		"two steps with one key after their notifications": {
			func(b *bench) {
				b.notify("/a", 1)
				b.notify("/a", 2)
				b.await("/a", 1, 0)
				b.at(50)
				b.await("/a", 2, 0)
				b.await("/a", 3, 0)
				b.at(150)
			},
			"kept 1, kept 2, 1 takes 1 of 0 ms, 2 takes 2 of 0 ms, missed 3", Counts{InTime: 2, Missing: 1},
		},
		"a key again, before its step": {
			func(b *bench) {
				b.await("/a", 1, 0)
				b.notify("/a", 1)
				b.notify("/a", 2)
				b.await("/a", 2, 0)
			},
			"1 received, kept 2, 2 takes 2 of 0 ms", Counts{InTime: 2},
		},
		"after a step that missed it": {
			func(b *bench) { b.await("/a", 1, 0); b.at(100); b.notify("/a", 1); b.await("/a", 2, 0) },
			"missed 1, kept 1, 2 takes 1 of 100 ms", Counts{InTime: 1, Missing: 1},
		},
		"a late one is not for an instance that began after it": {
			func(b *bench) {
				b.await("/a", 1, 0)
				b.at(100)
				b.notify("/a", 1)
				b.at(110)
				b.awaitLater("/a", 2, 0)
				b.at(120)
				b.notify("/a", 2)
				b.at(500)
			},
			"missed 1, kept 1, 2 received, discarded 1", Counts{InTime: 1, Missing: 1, Late: 1},
		},
		"a duplicate is not for an instance that began after it": {
			func(b *bench) {
				b.await("/a", 1, 0)
				b.notify("/a", 1)
				b.notify("/a", 2)
				b.at(10)
				b.awaitLater("/a", 2, 0)
				b.at(500)
			},
			"1 received, kept 2, missed 2, discarded 2", Counts{InTime: 1, Missing: 1, Duplicate: 1},
		},
		"an old and a new one before their step": {
			func(b *bench) {
				b.notify("/a", 1)
				b.at(10)
				b.notify("/a", 2)
				b.awaitLater("/a", 1, 0)
				b.at(500)
			},
			"kept 1, kept 2, 1 takes 2 of 10 ms, discarded 1", Counts{InTime: 1, Unexpected: 1},
		},
		"too many duplicates and late ones": {
			func(b *bench) {
				b.await("/a", 1, 0)
				b.notify("/a", 1)
				b.await("/b", 2, 0)
				b.at(100)
				b.notify("/c", 2)
				b.notify("/d", 3)
				b.notify("/a", 4)
				b.notify("/b", 5)
			},
			"1 received, missed 2, kept 2, kept 3, dropped 4, dropped 5", Counts{InTime: 1, Missing: 1, Duplicate: 1, Late: 1},
		},
		"two steps with one key and other timeouts": {
			func(b *bench) { b.await("/a", 1, 1); b.await("/a", 2, 0); b.at(100); b.notify("/a", 1) },
			"missed 2, 1 received", Counts{InTime: 1, Missing: 1},
		},
		"a key again": {
			func(b *bench) {
				b.await("/a", 1, 0)
				b.notify("/a", 1)
				b.await("/a", 2, 0)
				b.notify("/a", 2)
				b.at(1000)
			},
			"1 received, 2 received", Counts{InTime: 2},
		},
		"at the end": {
			func(b *bench) {
				b.await("/a", 1, 0)
				b.notify("/b", 5)
				b.Abandon(b.now * ms)
				b.notify("/a", 1)
				b.at(1000)
			},
			"kept 5, discarded 5, kept 1, discarded 1", Counts{WaitingAtEnd: 1, Unexpected: 1, Late: 1},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			tt.do(b)
			if got := strings.Join(b.log, ", "); got != tt.want {
				t.Errorf("%s; want %s", got, tt.want)
			}
			if diff := cmp.Diff(tt.then, b.Counts()); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUntil: late notifications are expected for the time to keep after the last wait, whatever else comes.
func TestUntil(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*bench)
		want int64 // in ms
	}{
		{"no step", func(b *bench) { b.at(1000); b.notify("/a", 1) }, 0},
		{"waiting", func(b *bench) { b.await("/a", 1, 0); b.at(99) }, never},
		{"received", func(b *bench) {
			b.await("/a", 1, 0)
			b.at(50)
			b.notify("/a", 1)
			b.at(90)
			b.notify("/a", 2)
			b.notify("/b", 3)
		}, 350},
		{"missing", func(b *bench) { b.await("/a", 1, 0); b.at(100); b.at(150); b.notify("/a", 1) }, 400},
		{"received before", func(b *bench) { b.notify("/a", 1); b.at(50); b.await("/a", 1, 0); b.at(60) }, 350},
		{"one of two", func(b *bench) { b.await("/a", 1, 0); b.await("/b", 2, 1); b.notify("/a", 1) }, never},
		{"at the end", func(b *bench) { b.await("/a", 1, 0); b.at(50); b.Abandon(b.now * ms) }, 350},
	} {
		b := newBench()
		if tt.do(b); tt.want != never {
			tt.want *= ms
		}
		if got := b.Until(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestRandomEvents: the two equations of Counts hold after each event, and nothing is left at the end.
func TestRandomEvents(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var steps, missed, notifications, discarded, kept int64
		tab := New(Config{
			Timeouts: []time.Duration{5, 50}, Keep: 20, MaxEntries: 60, MaxEarly: 20, MaxEarlySize: 150,
			Missed: func(Waiter) { missed++ }, Discard: func(Notification) { discarded++ },
		})
		for now := range int64(20000) {
			key := fmt.Appendf(nil, "/%d", r.IntN(40))
			switch r.IntN(3) {
			case 0:
				steps++
				tab.Await(key, r.IntN(2), Waiter{}, now)
			case 1:
				notifications++
				if _, o := tab.Notified(key, Notification{At: now, Size: r.IntN(20)}); o == Kept {
					kept++
				}
			}
			if next := tab.Next(); next <= now {
				tab.Expire(now)
				if next = tab.Next(); next <= now {
					t.Fatalf("seed %d: after Expire(%d) the next is %d", seed, now, next)
				}
			}
			c := tab.Counts()
			if got := c.InTime + c.Late + c.Duplicate + c.Unexpected + int64(tab.Early()); got != notifications {
				t.Fatalf("seed %d, %d: %d notifications, counted %d: %+v", seed, now, notifications, got, c)
			}
			if got := c.InTime + c.Missing + int64(tab.Waiting()); got != steps || c.Missing != missed {
				t.Fatalf("seed %d, %d: %d steps, counted %d; missed %d: %+v", seed, now, steps, got, missed, c)
			}
		}
		tab.Abandon(20000)
		tab.Expire(never)
		if c := tab.Counts(); tab.inUse != 0 || tab.earlySize != 0 || len(tab.first) != 0 || tab.Early() != 0 || tab.Waiting() != 0 || c.WaitingAtEnd == 0 || discarded == 0 || discarded > kept {
			t.Errorf("seed %d: at the end %d entries, %d hashes, %d early, %d waiting, %d of %d discarded, %+v", seed, tab.inUse, len(tab.first), tab.Early(), tab.Waiting(), discarded, kept, c)
		}
	}
}

// TestOneKey: many steps with one key cost no more time each than steps with keys of their own.
func TestOneKey(t *testing.T) {
	tab := New(Config{Timeouts: []time.Duration{time.Second}, Keep: time.Hour, MaxEntries: 1 << 20, MaxEarly: 10, MaxEarlySize: 10, Missed: func(Waiter) {}, Discard: func(Notification) {}})
	key := []byte("/same")
	for i := range int32(1000) {
		tab.Await(key, 0, Waiter{Instance: i}, 0)
	}
	for i := range int32(200_000) { // quadratic: minutes
		if w, o := tab.Notified(key, Notification{}); o != Received || w.Instance != i {
			t.Fatalf("notification %d: outcome %d, instance %d", i, o, w.Instance)
		}
		tab.Await(key, 0, Waiter{Instance: i + 1000}, 0)
	}
	if tab.inUse > 1001 {
		t.Errorf("%d entries for 1000 steps that wait", tab.inUse)
	}
}
