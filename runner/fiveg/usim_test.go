package fiveg

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/fiveg/fivegtest"
)

// pair is a USIM and its home network, with the keys of test set 1.
type pair struct {
	t    *testing.T
	home fivegtest.Home
	usim USIM
	of   Subscriber
	seqs *Sequences
}

func newPair(t *testing.T, sqn rv.SQN) *pair {
	t.Helper()
	const network = "5G:mnc001.mcc001.3gppnetwork.org"
	return &pair{
		t:    t,
		home: fivegtest.Home{K: octets(t, testK), OPc: octets(t, testOPc), AMF: [2]byte{0x80}, Step: 1, Network: network},
		of:   Subscriber{K: block(t, testK), OPc: block(t, testOPc), Network: []byte(network)},
		seqs: NewSequences(sqn),
	}
}

func (p *pair) respond(content []byte) string { return p.usim.Respond(content, &p.of, p.seqs, 0) }

// answers returns all answers that the USIM has.
func (p *pair) answers() map[rv.Answer]string {
	out := map[rv.Answer]string{}
	for _, name := range rv.Answers() {
		if value := p.usim.AppendAnswer(nil, name); len(value) > 0 {
			out[name] = string(value)
		}
	}
	return out
}

// fresh fails the test unless the USIM accepts a vector, with the answers that the home network expects.
func (p *pair) fresh(v fivegtest.Vector) {
	p.t.Helper()
	if failed := p.respond(v.JSON()); failed != "" || p.usim.Stale() {
		p.t.Fatalf("failed %q, stale %v", failed, p.usim.Stale())
	}
	want := map[rv.Answer]string{
		rv.AnswerRAND: hex.EncodeToString(v.RAND), rv.AnswerRESStar: hex.EncodeToString(v.RESStar), rv.AnswerKSEAF: hex.EncodeToString(v.KSEAF),
	}
	if diff := cmp.Diff(want, p.answers()); diff != "" {
		p.t.Errorf("answers (-want +got)\n%s", diff)
	}
}

// stale fails the test unless the USIM answers a vector with AUTS, which sets SQN of the home network to want.
func (p *pair) stale(v fivegtest.Vector, want uint64) {
	p.t.Helper()
	if failed := p.respond(v.JSON()); failed != "" || !p.usim.Stale() {
		p.t.Fatalf("failed %q, stale %v", failed, p.usim.Stale())
	}
	got := p.answers()
	if len(got) != 2 {
		p.t.Errorf("answers are %v, want rand and auts", got)
	}
	if err := p.home.Resynchronize(got[rv.AnswerRAND], got[rv.AnswerAUTS]); err != nil || p.home.SQN != want {
		p.t.Errorf("SQN is %x after AUTS, want %x: %v", p.home.SQN, want, err)
	}
}

func TestChallenge(t *testing.T) {
	p := newPair(t, rv.SQN{})
	for range 3 {
		p.fresh(p.home.Vector())
	}
	highest := p.home.SQN
	p.stale(p.home.VectorOf(block16(1)), highest) // the same SQN again
	p.fresh(p.home.Vector())
	p.home.SQN = 1
	p.stale(p.home.VectorOf(block16(2)), highest+1)
	p.fresh(p.home.Vector())
}

func block16(first byte) []byte { return append([]byte{first}, make([]byte, KeySize-1)...) }

// TestFirstNumber: a USIM without history accepts any SQN but 0.
func TestFirstNumber(t *testing.T) {
	p := newPair(t, rv.SQN{})
	p.stale(p.home.VectorOf(block16(1)), 0)
	p.home.SQN = 1<<48 - 1
	p.fresh(p.home.VectorOf(block16(2)))
	p.stale(p.home.VectorOf(block16(3)), 1<<48-1)
}

func TestFailedChallenges(t *testing.T) {
	p := newPair(t, rv.SQN{})
	v := p.home.Vector()
	flipped := func(b []byte, i int) []byte {
		b = append([]byte(nil), b...)
		b[i] ^= 1
		return b
	}
	wrongSQN, wrongAMF, wrongMAC, wrongRAND := v, v, v, v
	wrongSQN.AUTN, wrongAMF.AUTN = flipped(v.AUTN, 5), flipped(v.AUTN, 7)
	wrongMAC.AUTN, wrongRAND.RAND = flipped(v.AUTN, 15), flipped(v.RAND, 0)
	p.home.AMF = [2]byte{0x7f, 0xff}
	fourG := p.home.Vector()
	digits := fmt.Sprintf(`{"5gAuthData":{"rand":"%x","autn":"%x0"}}`, v.RAND, v.AUTN)
	for _, tt := range []struct{ name, content, want string }{
		{"no content", "", rv.CheckUSIMChallenge},
		{"another document", `{"a":1}`, rv.CheckUSIMChallenge},
		{"no autn", `{"5gAuthData":{"rand":"23553cbe9637a89d218ae64dae47bf35"}}`, rv.CheckUSIMChallenge},
		{"too many digits", digits, rv.CheckUSIMChallenge},
		{"another type", `{"5gAuthData":5}`, rv.CheckUSIMEAP},
		{"SQN", string(wrongSQN.JSON()), rv.CheckUSIMMAC},
		{"AMF", string(wrongAMF.JSON()), rv.CheckUSIMMAC},
		{"MAC", string(wrongMAC.JSON()), rv.CheckUSIMMAC},
		{"RAND", string(wrongRAND.JSON()), rv.CheckUSIMMAC},
		{"separation bit", string(fourG.JSON()), rv.CheckUSIMAMF},
		{"of a UDM", fmt.Sprintf(`{"authType":"5G_AKA","authenticationVector":{"avType":"5G_HE_AKA","rand":"%x","autn":"%x"}}`, v.RAND, v.AUTN), ""},
	} {
		got := p.respond([]byte(tt.content))
		if got != tt.want {
			t.Errorf("%s: failed %q, want %q", tt.name, got, tt.want)
		}
		if answers := p.answers(); (got != "") != (len(answers) == 0) && got != rv.CheckUSIMEAP {
			t.Errorf("%s: answers are %v", tt.name, answers)
		}
	}
}

// TestSequences compares with a model: an array of SEQ by IND, as TS 33.102 C.2.1 has it.
func TestSequences(t *testing.T) {
	for _, config := range []rv.SQN{{}, {IndBits: 5}, {IndBits: 5, Delta: 3}, {IndBits: 8}, {Delta: 40}} {
		s, r := NewSequences(config), rand.New(rand.NewPCG(1, 2))
		model := map[int64][]uint64{}
		for range 20_000 {
			n, sqn := r.Int64N(300), r.Uint64N(1<<12)
			a := model[n]
			if a == nil {
				a = make([]uint64, 1<<config.IndBits)
				model[n] = a
			}
			seq, ind := sqn>>config.IndBits, sqn&(1<<config.IndBits-1)
			ms := uint64(0)
			for i, known := range a {
				ms = max(ms, known<<config.IndBits|uint64(i)*min(known, 1))
			}
			want := seq > a[ind] && (config.Delta == 0 || seq <= ms>>config.IndBits+uint64(config.Delta))
			highest, fresh := s.accept(n, sqn)
			if fresh != want || !fresh && highest != ms {
				t.Fatalf("%+v: SQN %x of subscriber %d: fresh %v with SQN_MS %x, want %v with %x", config, sqn, n, fresh, highest, want, ms)
			}
			if fresh {
				a[ind] = seq
			}
		}
	}
}

// TestSequencesAreSmall: adjacent subscribers need eight octets each.
func TestSequencesAreSmall(t *testing.T) {
	s := NewSequences(rv.SQN{})
	for n := range int64(100_000) {
		s.accept(1<<33+n, 1)
	}
	if got, most := len(s.pages), 100_000>>pageBits+2; got > most {
		t.Errorf("%d pages of %d octets, want at most %d", got, 8<<pageBits, most)
	}
}

// BenchmarkUSIM compares a challenge of 5G AKA and its RES* with the crypto alone: five blocks of AES, and the two sums
// of HMAC-SHA-256.
func BenchmarkUSIM(b *testing.B) {
	var t testing.T
	shared, err := aes.NewCipher(octets(&t, testK))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("challenge", func(b *testing.B) {
		p := newPair(&t, rv.SQN{IndBits: 5})
		p.of.Cipher = shared
		content := p.home.Vector().JSON()
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			clear(p.seqs.array(0)) // so that the sequence number is fresh
			if failed := p.respond(content); failed != "" {
				b.Fatal(failed)
			}
			buf = p.usim.AppendAnswer(buf[:0], rv.AnswerRESStar)
		}
	})
	b.Run("crypto", func(b *testing.B) {
		var block [KeySize]byte
		var inner [127]byte
		var outer [96]byte
		for b.Loop() {
			for range 5 {
				shared.Encrypt(block[:], block[:])
			}
			sum := sha256.Sum256(inner[:])
			copy(outer[:], sum[:])
			sum = sha256.Sum256(outer[:])
			copy(inner[:], sum[:])
		}
	})
}
