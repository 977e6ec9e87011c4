package h1

import (
	"math/rand/v2"
	"testing"

	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/protocol"
)

// ledger checks that a handler is called as it was promised.
type ledger struct {
	t    testing.TB
	open map[uint32]bool // by token: OnStatus was called
	done int
}

func (l *ledger) known(tok uint32) {
	if _, open := l.open[tok]; !open {
		l.t.Fatalf("an event of request %d, which is not open", tok)
	}
}

func (l *ledger) OnStatus(tok uint32, status int) {
	l.known(tok)
	if l.open[tok] || status < 200 || status > 999 {
		l.t.Fatalf("request %d: status %d", tok, status)
	}
	l.open[tok] = true
}

func (l *ledger) OnTrailer(tok uint32, name, value []byte) { l.OnHeader(tok, name, value) }

func (l *ledger) OnHeader(tok uint32, name, value []byte) {
	l.known(tok)
	for _, b := range name {
		if !octet.IsTokenOctet(b) || 'A' <= b && b <= 'Z' {
			l.t.Fatalf("name %q", name)
		}
	}
	for _, b := range value {
		if b == '\r' || b == '\n' || b == 0 {
			l.t.Fatalf("value %q could split a request that has it", value)
		}
	}
	if n := len(value); len(name) == 0 || n > 0 && (octet.IsBlank(value[0]) || octet.IsBlank(value[n-1])) {
		l.t.Fatalf("%q: %q", name, value)
	}
}

func (l *ledger) OnData(tok uint32, p []byte) {
	l.known(tok)
	if !l.open[tok] || len(p) == 0 {
		l.t.Fatalf("data of request %d before its status, or none", tok)
	}
}

func (l *ledger) OnDone(tok uint32, o protocol.Outcome) {
	l.known(tok)
	if o.Kind == protocol.Completed && !l.open[tok] {
		l.t.Fatalf("request %d is complete without a status", tok)
	}
	delete(l.open, tok)
	l.done++
}

// session runs a script of operations, each an octet with what it needs behind
// it, and checks the session after each.
type session struct {
	c      *Client
	l      *ledger
	ids    map[uint32]uint32 // by token
	tok    uint32
	script []byte
}

func (s *session) octet() byte {
	if len(s.script) == 0 {
		return 0
	}
	b := s.script[0]
	s.script = s.script[1:]
	return b
}

// heads are there so that scripts get beyond them.
var heads = []string{
	empty, lastEmpty,
	ok + "content-length: 9\r\n\r\n", ok + "transfer-encoding: chunked\r\n\r\n", ok + "\r\n",
	"HTTP/1.1 100 x\r\n\r\n", "HTTP/1.0 404 x\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\n", "HTTP/1.1 204\r\nA: b\r\n\r\n",
}

func (s *session) step() {
	switch op := s.octet(); op & 7 {
	case 0:
		s.open(op)
	case 1:
		s.c.Wrote(len(s.c.Pending()) * int(op>>3) / 31)
	case 2:
		in := heads[op>>3&7]
		at := len(in) * int(op>>6) / 4
		s.receive([]byte(in[:at]))
		s.receive([]byte(in[at:]))
	case 3:
		if id, isOpen := s.ids[s.tok-uint32(op>>3)%4]; isOpen && op > 200 {
			if _, here := s.l.open[s.tok-uint32(op>>3)%4]; s.c.Cancel(id, 0) != here {
				s.l.t.Fatal("Cancel finds what is open, and nothing else")
			}
			delete(s.l.open, s.tok-uint32(op>>3)%4)
		}
	case 4:
		if op >= 244 {
			_ = s.c.Ended()
		} else if op > 220 {
			s.c.Shutdown()
		}
	default:
		n := min(int(op>>3), len(s.script))
		s.receive(append([]byte(nil), s.script[:n]...))
		s.script = s.script[n:]
	}
}

func (s *session) open(op byte) {
	free := s.c.Free() > 0
	s.tok++
	s.l.open[s.tok] = false
	method := []string{"GET", "POST"}[op>>3&1]
	id := s.c.Open(append(s.c.Begin(), method+" / HTTP/1.1\r\n\r\n"...), s.tok, make([]byte, op>>6), protocol.Want(op>>3&7))
	if (id != 0) != free {
		s.l.t.Fatal("Open does what Free says")
	}
	if id == 0 {
		delete(s.l.open, s.tok)
		return
	}
	s.ids[s.tok] = id
}

func (s *session) receive(p []byte) {
	over := s.c.Broken()
	err := s.c.Receive(p, 0)
	if err != nil && !s.c.Broken() || over && s.c.Free() > 0 {
		s.l.t.Fatal("an error breaks the session")
	}
}

func (s *session) check(cfg Config) {
	if s.c.InFlight() != len(s.l.open) {
		s.l.t.Fatalf("%d in flight, %d are open", s.c.InFlight(), len(s.l.open))
	}
	if kept := cap(s.c.in.carry) + cap(s.c.in.memo) + 32*len(s.c.queue.ring); kept > 4*cfg.MaxHeaderBytes+memoMost+carryKept+64*cfg.Pipeline {
		s.l.t.Fatalf("%d octets kept", kept)
	}
}

func runScript(t testing.TB, script []byte, pipeline byte) (done int) {
	cfg := Config{Pipeline: 1 + int(pipeline%4), NoKeepAlive: pipeline > 250, MaxHeaderBytes: 200}
	l := &ledger{t: t, open: map[uint32]bool{}}
	s := &session{c: NewClient(cfg, l), l: l, ids: map[uint32]uint32{}, script: script}
	for len(s.script) > 0 {
		s.step()
		s.check(cfg)
	}
	s.c.Close()
	if len(l.open) != 0 || s.c.InFlight() != 0 || len(s.c.Pending()) != 0 {
		t.Fatalf("after Close: %d without OnDone", len(l.open))
	}
	return l.done
}

// FuzzSession: whatever comes in whatever order, each request has one end and
// what is kept is bounded.
func FuzzSession(f *testing.F) {
	f.Fuzz(func(t *testing.T, script []byte, pipeline byte) { runScript(t, script, pipeline) })
}

func TestRandomSessions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	done := 0
	for range 20000 {
		script := make([]byte, r.IntN(60))
		for i := range script {
			script[i] = byte(r.Uint32())
			if r.IntN(2) == 0 {
				script[i] = []byte{0, 8, 0xf9, 0xf9, 2, 10, 18, 26, 34, 42, 50, 58}[r.IntN(12)]
			}
		}
		done += runScript(t, script, byte(r.Uint32()))
	}
	if done < 4000 {
		t.Errorf("only %d requests ended", done)
	}
}
