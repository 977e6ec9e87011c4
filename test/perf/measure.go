package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/h2surge/h2surge/test/harness"
)

// state is how a row ended.
type state string

const (
	stateMeasured state = "measured"
	stateSkipped  state = "skipped" // a program is not installed
	stateFailed   state = "failed"
)

// result is a row and its rounds.
type result struct {
	row     row
	state   state
	why     string // unless measured
	ours    runs   // none unless measured
	peers   runs   // as many, or none
	floors  runs   // as many, or none
	noFloor string // what the row's floor lacks; empty: nothing
	suite   string // that both sides negotiated; empty: cleartext
	remarks []string
	cpus    int // of the machine
}

// measure runs a row: its servers, a run of each side that does not count, then the rounds.
func (b *lab) measure(r row) result {
	res := result{row: r, state: stateMeasured, cpus: len(b.CPUs)}
	if res.why = missing(r); res.why != "" {
		res.state = stateSkipped
		return res
	}
	if r.floor != nil {
		if res.noFloor = b.lacksFloor(r.floor.load.protocol); res.noFloor != "" {
			res.row.floor = nil
		}
	}
	if err := b.serveAndRun(&res); err != nil {
		res.state, res.why = stateFailed, err.Error()
	}
	return res
}

func (b *lab) serveAndRun(res *result) error {
	cpus := b.ServerCPUs()
	if res.row.serverCPUs != nil {
		cpus = res.row.serverCPUs(b)
	}
	s, err := res.row.server.start(b, cpus)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := b.warm(s, res); err != nil {
		return err
	}
	for range res.row.roundsOf(b.rounds) {
		if err := b.round(s, res); err != nil {
			return err
		}
	}
	return nil
}

// fewRounds are enough for figures that have no mark.
const fewRounds = 3

// roundsOf returns how many of the asked rounds the row has.
func (r row) roundsOf(asked int) int {
	most := r.rounds
	if most == 0 && len(r.goals) == 0 {
		most = fewRounds
	}
	if most == 0 {
		return asked
	}
	return min(asked, most)
}

// round is one run of each side.
func (b *lab) round(s *served, res *result) error {
	for _, turn := range []struct {
		side   *side
		rounds *runs
	}{{&res.row.ours, &res.ours}, {res.row.peer, &res.peers}, {res.row.floor, &res.floors}} {
		if turn.side == nil {
			continue
		}
		m, err := b.runSide(s, *turn.side, b.seconds)
		if err != nil {
			return err
		}
		*turn.rounds = append(*turn.rounds, m)
		res.remark(m.remark)
	}
	return nil
}

// warm runs each side once without measuring, and compares what TLS they agreed on.
func (b *lab) warm(s *served, res *result) error {
	r := res.row
	if p := r.ours.load.protocol; p == h2 || p == h3 { // a server has the same for both
		var err error
		if res.suite, err = probe(s.urls(h2)[0]); err != nil {
			return fmt.Errorf("asking for the TLS suite: %w", err)
		}
	}
	for _, sd := range []*side{&r.ours, r.peer, r.floor} {
		if sd == nil {
			continue
		}
		m, err := b.runSide(s, *sd, warmUpSeconds)
		if err != nil {
			return err
		}
		if sd != &r.ours && m.suite != res.suite { // the probe has the client of h2surge
			return fmt.Errorf("the sides negotiate different TLS: %s and %s", res.suite, m.suite)
		}
	}
	return nil
}

func (r *result) remark(text string) {
	for _, known := range r.remarks {
		if known == text {
			return
		}
	}
	if text != "" {
		r.remarks = append(r.remarks, text)
	}
}

// runSide runs a client once and holds its account against the server's.
func (b *lab) runSide(s *served, sd side, seconds int) (measured, error) {
	c, err := sd.client.command(b, s, sd.load, seconds)
	if err != nil {
		return measured{}, err
	}
	c.CPUs = b.ClientCPUs()
	if sd.cpus != nil {
		c.CPUs = sd.cpus(b)
	}
	before, err := s.received()
	if err != nil {
		return measured{}, err
	}
	f, err := harness.Run(b.Ctx, c, time.Duration(seconds)*time.Second+graceAtEnd)
	if err != nil {
		return measured{}, err
	}
	m, err := sd.client.parse(f)
	if err != nil {
		return measured{}, err
	}
	m.cpu = f.CPU
	after, err := s.received()
	if err != nil {
		return measured{}, err
	}
	if err := m.check(s.count != nil, after-before, sd.load); err != nil {
		return measured{}, fmt.Errorf("%s: %w", sd.name(), err)
	}
	return m, nil
}

// graceAtEnd is how much longer than its time of sending a client may take, start included.
const graceAtEnd = 20 * time.Second

// received is the server's count, 0 where it has none.
func (s *served) received() (int64, error) {
	if s.count == nil {
		return 0, nil
	}
	n, err := s.count()
	if err != nil {
		return 0, fmt.Errorf("asking the server for its count: %w", err)
	}
	return n, nil
}

// check refuses runs whose figures would mislead. A client that stops in mid-flight does not
// report those requests, which the server may have counted.
func (m measured) check(counts bool, received int64, l load) error {
	sent := m.requests + m.unanswered
	switch {
	case m.requests == 0:
		return errors.New("not one request was answered")
	case math.Abs(float64(m.rejected)-l.failing*float64(sent)) > l.failing*float64(sent)/10:
		return fmt.Errorf("%d of %d requests failed, want %.2g%%", m.rejected, sent, 100*l.failing)
	case counts && (received < sent || received > sent+l.inFlight()):
		return fmt.Errorf("it reports %d requests with at most %d in flight at the end, but the server received %d",
			sent, l.inFlight(), received)
	}
	return nil
}

// verdict shows how each goal stands, the first one by its verdict alone.
func (r result) verdict() string {
	if r.state != stateMeasured {
		return string(r.state) + ": " + r.why
	}
	var parts []string
	for i, g := range r.row.goals {
		v := g.of(r).median
		text := g.judge(v)
		if r.cpus < g.cpus {
			text = fmt.Sprintf("not judged with %d CPUs", r.cpus)
		}
		if g.ofFloor && r.noFloor != "" {
			text = g.what + ": " + r.noFloor
		} else if i > 0 {
			text = fmt.Sprintf("%s %s, mark %s: %s", g.what, harness.Figure(v), harness.Figure(g.mark), text)
		}
		parts = append(parts, text)
	}
	return strings.Join(append(parts, r.remarks...), "; ")
}
