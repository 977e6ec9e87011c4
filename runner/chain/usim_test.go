package chain

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/fiveg/fivegtest"
	"github.com/h2surge/h2surge/runner/message"
)

// usimPlan is a chain with one step, whose challenge the subscribers of the only variable answer.
func usimPlan(v rv.Variable, answers ...rv.Answer) *rv.Plan {
	p := drawPlan(lit("x"), v)
	c := &p.Chains[0]
	u := &rv.USIM{Variable: 1}
	for _, a := range answers {
		u.Answers = append(u.Answers, rv.UsimAnswer{Name: a, Slot: len(c.Captures)})
		c.Captures = append(c.Captures, "ue."+string(a))
	}
	c.Steps[0].Expect.USIM = u
	return p
}

// usimSubscribers have the keys of test set 1.
func usimSubscribers(count int64, order rv.Order) rv.Variable {
	s := testNetwork(count)
	s.AKA = &rv.AKA{K: *text1(testK), OPc: text1(testOPc)}
	return rv.Variable{Name: "ue", Subscribers: s, Order: order}
}

func home(t *testing.T) *fivegtest.Home {
	t.Helper()
	k, err1 := hex.DecodeString(testK)
	opc, err2 := hex.DecodeString(testOPc)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return &fivegtest.Home{K: k, OPc: opc, AMF: [2]byte{0x80}, Step: 1, Network: "5G:mnc001.mcc001.3gppnetwork.org"}
}

func challengeOf(v fivegtest.Vector) *message.Exchange { return exchange(201, string(v.JSON())) }

func slots(in *Instance) (out []string) {
	for i := range in.captures {
		out = append(out, string(in.Captured(i)))
	}
	return out
}

func TestUSIM(t *testing.T) {
	g := program(t, usimPlan(usimSubscribers(3, rv.OrderSequential), rv.AnswerRESStar, rv.AnswerAUTS))
	src, h, s := sources(g), home(t), &g.Steps[0]
	var in Instance
	in.Start(g, 0, src, 1)
	v := h.Vector()
	if failed := s.Judge(&in, challengeOf(v)); failed != "" {
		t.Fatal(failed)
	}
	if diff := cmp.Diff([]string{hex.EncodeToString(v.RESStar), ""}, slots(&in)); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
	if failed := s.Judge(&in, challengeOf(v)); failed != "" {
		t.Fatal(failed)
	}
	if got := slots(&in); got[0] != "" || h.Resynchronize(hex.EncodeToString(v.RAND), got[1]) != nil || in.Has(0) || !in.Has(1) {
		t.Errorf("answers to a stale challenge are %q", got)
	}
	if failed := s.Judge(&in, exchange(201, `{}`)); failed != rv.CheckUSIMChallenge || in.Has(0) || in.Has(1) {
		t.Errorf("failed %q with answers %q, want %q and none", failed, slots(&in), rv.CheckUSIMChallenge)
	}
	in.Start(g, 0, src, 1) // another subscriber
	if failed := s.Judge(&in, challengeOf(v)); failed != "" || !in.Has(0) {
		t.Errorf("failed %q with answers %q", failed, slots(&in))
	}
}

// TestStaleWithoutResynchronization: a sequence number that is not fresh is a failed check if no step reads AUTS.
func TestStaleWithoutResynchronization(t *testing.T) {
	g := program(t, usimPlan(usimSubscribers(3, rv.OrderSequential), rv.AnswerRESStar))
	src, x := sources(g), challengeOf(home(t).Vector())
	var in Instance
	in.Start(g, 0, src, 1)
	for _, want := range []string{"", rv.CheckUSIMSQN} {
		if failed := g.Steps[0].Judge(&in, x); failed != want {
			t.Errorf("failed %q, want %q", failed, want)
		}
	}
	h := home(t)
	h.K = make([]byte, 16)
	if failed := g.Steps[0].Judge(&in, challengeOf(h.Vector())); failed != rv.CheckUSIMMAC {
		t.Errorf("failed %q, want %q", failed, rv.CheckUSIMMAC)
	}
}

// TestEachWorkerHasItsOwnNumbers: each subscriber has its own sequence number, which its worker keeps in all rounds.
func TestEachWorkerHasItsOwnNumbers(t *testing.T) {
	const n = 61
	for _, order := range []rv.Order{rv.OrderSequential, rv.OrderShuffled} {
		p := usimPlan(usimSubscribers(n, order))
		g := program(t, p)
		h := home(t)
		for _, src := range workersOf(t, p, g, 3, 2) {
			accepted := map[int64]bool{}
			var in Instance
			for range 3 * n {
				in.Start(g, 0, src, 1)
				want := ""
				if accepted[in.cells[0]] {
					want = rv.CheckUSIMSQN
				}
				accepted[in.cells[0]] = true
				h.SQN = 100
				if failed := g.Steps[0].Judge(&in, challengeOf(h.Vector())); failed != want {
					t.Fatalf("%s: subscriber %d: failed %q, want %q", order, in.cells[0], failed, want)
				}
			}
			if len(accepted) > n/6+1 {
				t.Errorf("%s: a worker has %d of %d subscribers", order, len(accepted), n)
			}
		}
	}
}

func TestUSIMOfTable(t *testing.T) {
	rows := "k,opc,servingNetwork\n" + testK + "," + testOPc + ",5G:mnc001.mcc001.3gppnetwork.org\n"
	load := func(rows string) (*Program, error) {
		v := rv.Variable{Name: "ue", CSV: &rv.CSV{Content: rv.Content{Text: rows}}, Order: rv.OrderSequential}
		return Load(usimPlan(v, rv.AnswerRESStar), Resources{})
	}
	g, err := load(rows)
	if err != nil {
		t.Fatal(err)
	}
	src, v := sources(g), home(t).Vector()
	var in Instance
	in.Start(g, 0, src, 1)
	if failed := g.Steps[0].Judge(&in, challengeOf(v)); failed != "" || string(in.Captured(0)) != hex.EncodeToString(v.RESStar) {
		t.Errorf("failed %q with %q", failed, slots(&in))
	}
	for _, tt := range []struct{ rows, want string }{
		{rows + testK + "," + testOPc[1:] + ",5G:x\n", "chains[0].steps[0].expect.usim: column opc of row 2 must have 32 hexadecimal digits"},
		{"k,opc\n1,2\n", "the variable ue has no column \"servingNetwork\""},
	} {
		if _, err := load(tt.rows); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestRowsForShards: a file has a row for each shard, so that one subscriber has one USIM.
func TestRowsForShards(t *testing.T) {
	const row = testK + "," + testOPc + ",5G:x\n"
	for _, tt := range []struct {
		rows, shards int
		phase        rv.Phase
		want         string
	}{
		{3, 3, rv.PhaseLoad, ""},
		{1, 3, rv.PhaseSetup, ""}, // one worker runs it
		{2, 3, rv.PhaseLoad, "chains[0].steps[0].expect.usim: the variable ue has 2 rows for 3 shards, so that two USIMs would have the sequence numbers of one subscriber; allowed: at least one for each shard"},
	} {
		p := usimPlan(rv.Variable{Name: "ue", CSV: &rv.CSV{Content: rv.Content{File: "/ue.csv"}}, Order: rv.OrderSequential})
		p.Shards, p.Chains[0].Phase = tt.shards, tt.phase
		if tt.phase == rv.PhaseSetup {
			p.Chains = append(p.Chains, drawPlan(lit("x")).Chains...)
		}
		_, err := Load(p, Resources{ReadFile: func(string) ([]byte, error) {
			return []byte("k,opc,servingNetwork\n" + strings.Repeat(row, tt.rows)), nil
		}})
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%d rows, %d shards, phase %q: %v, want %s", tt.rows, tt.shards, tt.phase, err, tt.want)
		}
	}
}

func TestWrongUSIM(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*rv.Plan)
	}{
		{"there is no variable 2", func(p *rv.Plan) { p.Chains[0].Steps[0].Expect.USIM.Variable = 2 }},
		{"needs the scope", func(p *rv.Plan) { p.Variables[0].Scope = rv.ScopeWorker }},
		{"and the order", func(p *rv.Plan) { p.Variables[0].Order = rv.OrderRandom }},
		{`no answer "auts", or no slot 1`, func(p *rv.Plan) { p.Chains[0].Steps[0].Expect.USIM.Answers[0].Slot = 1 }},
		{"aka.sqn.indBits: must be from 0 to 8", func(p *rv.Plan) { p.Variables[0].Subscribers.AKA.SQN.IndBits = 9 }},
		{"aka.sqn.delta: must be from 0 to", func(p *rv.Plan) { p.Variables[0].Subscribers.AKA.SQN.Delta = rv.MaxDelta + 1 }},
		{`no column "k"`, func(p *rv.Plan) { p.Variables[0].Subscribers.AKA = nil }},
	} {
		p := usimPlan(usimSubscribers(3, rv.OrderSequential), rv.AnswerAUTS)
		tt.change(p)
		if _, err := Load(p, Resources{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestPermutationHasAnInverse: of returns the position of a value.
func TestPermutationHasAnInverse(t *testing.T) {
	for _, size := range []int64{1, 2, 3, 4, 5, 100, 4096, 10_007} {
		p := newPermutation(size, 7)
		for i := range size {
			if got := p.of(p.at(i)); got != i {
				t.Fatalf("%d of %d has the image %d, whose position is %d", i, size, p.at(i), got)
			}
		}
	}
}

// TestEAP: the identity of EAP-AKA' is the IMSI of the subscriber, and a challenge in eapPayload follows a synchronization failure.
func TestEAP(t *testing.T) {
	g := program(t, usimPlan(usimSubscribers(3, rv.OrderSequential), rv.AnswerEAP))
	src, h, s := sources(g), home(t), &g.Steps[0]
	var in Instance
	in.Start(g, 0, src, 1)
	for _, number := range []uint64{7, 8} {
		h.SQN = number
		c := h.Challenge("001010000000000")
		if failed := s.Judge(&in, exchange(201, string(fivegtest.JSON(c.Packet)))); failed != "" || c.Accept(string(in.Captured(0))) != nil {
			t.Errorf("failed %q with %q", failed, slots(&in))
		}
	}
	h.SQN = 1
	c := h.Challenge("001010000000000")
	failed := s.Judge(&in, exchange(201, string(fivegtest.JSON(c.Packet))))
	auts, err := c.AUTS(string(in.Captured(0)))
	if failed != "" || err != nil || h.Resynchronize(hex.EncodeToString(c.Vector.RAND), auts) != nil || h.SQN != 9 {
		t.Errorf("failed %q with %q: %v", failed, slots(&in), err)
	}
	if failed := s.Judge(&in, exchange(200, `{"eapPayload":"AwcABA=="}`)); failed != rv.CheckUSIMEAP {
		t.Errorf("failed %q, want %q", failed, rv.CheckUSIMEAP)
	}
}

// TestMaxWorkers: each worker of a share has a subscriber of its own, if the share has one at least. The second target of a share is one that no
// step sends to.
func TestMaxWorkers(t *testing.T) {
	usims := program(t, usimPlan(usimSubscribers(10, rv.OrderSequential), rv.AnswerRESStar))
	others := program(t, drawPlan(lit("x"), usimSubscribers(10, rv.OrderSequential)))
	for _, tt := range []struct {
		values rv.Span
		want   int
	}{{rv.Span{To: 3}, 3}, {rv.Span{From: 4, To: 10}, 4}, {rv.Span{}, 1}} {
		s := &rv.Share{Connections: []int{4, 1}, Variables: [][]rv.Span{{tt.values}}}
		if got := usims.MaxWorkers(s); got != tt.want {
			t.Errorf("%+v: %d workers, want %d", tt.values, got, tt.want)
		}
		if got := others.MaxWorkers(s); got != 4 {
			t.Errorf("%+v without a challenge: %d workers", tt.values, got)
		}
	}
}
