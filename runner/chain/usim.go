package chain

import (
	"bytes"
	"fmt"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/fiveg"
	"github.com/h2surge/h2surge/runner/message"
)

// usim is the USIM of a worker's subscribers. It has the keys of one subscriber at a time, and the sequence numbers of
// all of them.
type usim struct {
	fiveg.USIM
	subscriber fiveg.Subscriber
	// sequences are by variable. It has those whose subscribers had a challenge.
	sequences map[int]*fiveg.Sequences
	text      []byte
}

// card returns the USIM of the worker.
func (s *Sources) card() *usim {
	if s.usim == nil {
		s.usim = &usim{sequences: map[int]*fiveg.Sequences{}}
	}
	return s.usim
}

// challenge is what a step needs to answer the challenge of its response.
type challenge struct {
	variable int
	v        *variable
	// cell has the number of the subscriber.
	cell int
	// columns of a table, in the order of rv.UsimColumns. supi is -1 if there is no such column.
	columns []int
	supi    int
	answers []rv.UsimAnswer
	// resynchronizes: the answers have AUTS, alone or in a response of EAP.
	resynchronizes bool
}

func (b *builder) challenge(in *rv.USIM) *challenge {
	if in == nil {
		return nil
	}
	b.in("expect.usim")
	if in.Variable < 1 || in.Variable > len(b.g.variables) {
		b.failf("there is no variable %d", in.Variable)
		return nil
	}
	out := &challenge{variable: in.Variable - 1, v: b.g.variables[in.Variable-1], answers: in.Answers}
	switch v := out.v; {
	case v.values == nil: // has a mistake of its own
		return nil
	case v.scope != rv.ScopeInstance || v.drawing != drawSequential && v.drawing != drawShuffled:
		b.failf("the variable %s needs the scope %s, and the order %s or %s", v.name, rv.ScopeInstance, rv.OrderSequential,
			rv.OrderShuffled)
		return nil
	}
	for _, column := range rv.UsimColumns() {
		c, err := out.v.column(string(column))
		if err != nil {
			b.fail(err)
			return nil
		}
		out.columns = append(out.columns, c)
	}
	if c, err := out.v.column(string(rv.ColumnSUPI)); err == nil {
		out.supi = c
	} else {
		out.supi = -1
	}
	b.keys(out)
	for _, a := range in.Answers {
		if a.Slot >= len(b.captures) || !slices.Contains(rv.Answers(), a.Name) {
			b.failf("there is no answer %q, or no slot %d", a.Name, a.Slot)
		}
		out.resynchronizes = out.resynchronizes || a.Name == rv.AnswerAUTS || a.Name == rv.AnswerEAP
	}
	out.cell = b.chain.draw(&b.chain.draws, out.variable, out.v.stop)
	return out
}

// keys checks the number of subscribers of a table, and their keys. internal/compile has checked those of subscribers.
func (b *builder) keys(c *challenge) {
	t, isTable := c.v.values.(*table)
	if !isTable {
		return
	}
	if n := t.rows(); b.chain.Phase == rv.PhaseLoad && n < int64(b.shards) {
		b.failf("the variable %s has %d rows for %d shards, so that two USIMs would have the sequence numbers of one "+
			"subscriber; allowed: at least one for each shard", c.v.name, n, b.shards)
	}
	var text []byte
	for row := range t.rows() {
		for i, column := range c.columns[:2] {
			text = t.Append(text[:0], row, column)
			if _, err := rv.Key(text); err != nil {
				b.fail(fmt.Errorf("column %s of row %d %w", rv.UsimColumns()[i], row+1, err))
				return
			}
		}
	}
}

// judge answers a challenge, and stores the answers. It returns the name of the check that failed, or "".
func (c *challenge) judge(in *Instance, x *message.Exchange) (failed string) {
	if c == nil {
		return ""
	}
	u, number := in.src.card(), in.cells[c.cell]
	c.setSubscriber(u, number)
	if c.v.drawing == drawShuffled { // so that the subscribers of a worker have adjacent numbers
		number = c.v.shuffle.of(number)
	}
	failed = u.Respond(x.Response.Body, &u.subscriber, c.sequences(u), number)
	for _, a := range c.answers {
		u.text = u.AppendAnswer(u.text[:0], a.Name)
		if len(u.text) == 0 || !in.Capture(a.Slot, u.text) {
			in.release(a.Slot)
		}
	}
	if failed == "" && u.Stale() && !c.resynchronizes {
		return rv.CheckUSIMSQN
	}
	return failed
}

func (c *challenge) setSubscriber(u *usim, number int64) {
	s := &u.subscriber
	if of, ok := c.v.values.(*fiveg.Subscribers); ok {
		of.SetKeys(s, number)
	} else {
		s.Cipher = nil
		for i, key := range []*[fiveg.KeySize]byte{&s.K, &s.OPc} {
			u.text = c.v.values.Append(u.text[:0], number, c.columns[i])
			*key, _ = rv.Key(u.text) // checked by keys
		}
	}
	s.Network = c.v.values.Append(s.Network[:0], number, c.columns[2])
	s.Identity = s.Identity[:0]
	if c.supi >= 0 {
		u.text = c.v.values.Append(u.text[:0], number, c.supi)
		s.Identity = append(s.Identity, bytes.TrimPrefix(u.text, []byte("imsi-"))...)
	}
}

// sequences returns the sequence numbers of the variable. Only the first call for a variable allocates memory.
func (c *challenge) sequences(u *usim) *fiveg.Sequences {
	if u.sequences[c.variable] == nil {
		u.sequences[c.variable] = fiveg.NewSequences(c.v.sqn)
	}
	return u.sequences[c.variable]
}

// MaxWorkers returns how many workers a share can have, at least 1. Each worker needs a subscriber of its own: two
// workers with one subscriber would not know the sequence numbers that the other one accepts.
func (g *Program) MaxWorkers(share *rv.Share) int {
	n := int64(split.MaxWorkers(share, g.sentTo))
	for i := range g.Steps {
		if c := g.Steps[i].usim; c != nil && g.Chains[g.Steps[i].Chain].Phase == rv.PhaseLoad {
			n = min(n, split.Values(c.v.spans(share, c.variable)))
		}
	}
	return int(max(n, 1))
}
