package h1

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/protocol/protocoltest"
)

// conversation is a session with its recorder.
type conversation struct {
	*Client
	*protocoltest.Recorder
	t testing.TB
}

func converse(t testing.TB, cfg Config) *conversation {
	r := new(protocoltest.Recorder)
	return &conversation{NewClient(cfg, r), r, t}
}

// request opens a request without sending it; the method is that of a line such
// as "POST /x".
func (c *conversation) request(tok uint32, line string, want protocol.Want) (id uint32) {
	c.t.Helper()
	if id = c.Open(append(c.Begin(), line+" HTTP/1.1\r\nhost: a\r\n\r\n"...), tok, nil, want); id == 0 {
		c.t.Fatalf("request %d was not opened", tok)
	}
	return id
}

// send writes all that is pending, and returns it.
func (c *conversation) send() string {
	s := string(c.Pending())
	c.Wrote(len(s))
	return s
}

// receive gives the session a copy, as it may change what it gets.
func (c *conversation) receive(s string) error { return c.Receive([]byte(s), 0) }

// answer is receive of what must be accepted.
func (c *conversation) answer(s string) {
	c.t.Helper()
	if err := c.receive(s); err != nil {
		c.t.Fatalf("%q: %v", s, err)
	}
}

// splits are ways to cut s: not at all, into octets, and at random.
func splits(s string) [][]string {
	all := [][]string{{s}, strings.Split(s, "")}
	r := rand.New(rand.NewPCG(1, uint64(len(s))))
	for range 8 {
		all = append(all, cut(r, s))
	}
	return all
}

func cut(r *rand.Rand, s string) (pieces []string) {
	for len(s) > 0 {
		n := 1 + r.IntN(len(s))
		if r.IntN(2) == 0 {
			n = 1 + r.IntN(min(len(s), 8))
		}
		pieces, s = append(pieces, s[:n]), s[n:]
	}
	return pieces
}

// section is the rule that an error names, "" for none.
func section(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Section
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
