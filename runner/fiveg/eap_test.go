package fiveg

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/fiveg/fivegtest"
)

// TestMasterKey uses the test vectors of RFC 9048, appendix C.
func TestMasterKey(t *testing.T) {
	const identity = "0555444333222111"
	for _, tt := range []struct{ network, autn, ik, ck, want string }{
		{
			"WLAN", "bb52e91c747ac3ab2a5c23d15ee351d5", "9744871ad32bf9bbd1dd5ce54e3e2e5a", "5349fbe098649f948f5d2e973a81c00f",
			"766fa0a6c317174b812d52fbcd11a179" + "0842ea722ff6835bfa2032499fc3ec23c2f0e388b4f07543ffc677f1696d71ea" +
				"cf83aa8bc7e0aced892acc98e76a9b2095b558c7795c7094715cb3393aa7d17a" +
				"67c42d9aa56c1b79e295e3459fc3d187d42be0bf818d3070e362c5e967a4d544e8ecfe19358ab3039aff03b7c930588c055babee58a02650b067ec4e9347c75a" +
				"f861703cd775590e16c7679ea3874ada866311de290764d760cf76df647ea01c313f69924bdd7650ca9bac141ea075c4",
		},
		{
			"HRPD", "bb52e91c747ac3ab2a5c23d15ee351d5", "9744871ad32bf9bbd1dd5ce54e3e2e5a", "5349fbe098649f948f5d2e973a81c00f",
			"05ad73ac915fce89ac77e1520d82187b" + "5b4acaef62c6ebb8882b2f3d534c4b35277337a00184f20ff25d224c04be2afd" +
				"3f90bf5c6e5ef325ff04eb5ef6539fa8cca8398194fbd00be425b3f40dba10ac",
		},
		{
			"WLAN", "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0", "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0", "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0",
			"897d302fa2847416488c28e20dcb7be4" + "c40700e7722483ae3dc7139eb0b88bb558cb3081eccd057f9207d1286ee7dd53" +
				"0a591a22dd8b5b1cf29e3d508c91dbbdb4aee23051892c42b6a2de66ea504473" +
				"9f7dca9e37bb22029ed986e7cd09d4a70d1ac76d95535c5cac40a7504699bb8961a29ef6f3e90f183de5861ad1bedc81ce9916391b401aa006c98785a5756df7" +
				"724de00bdb9e568187be3fe746114557d5018779537ee37f4d3c6c738cb97b9dc651bc19bfadc344ffe2b52ca78bd831",
		},
		{
			"HRPD", "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0", "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0", "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0",
			"745e7439ba238f50fcac4d15d47cd1d9" + "3e1d2aa4e677025cfd862a4be18361a13a645765571463df833a9759e8099879",
		},
	} {
		var u USIM
		u.network, u.autn = []byte(tt.network), block(t, tt.autn)
		u.last.ik, u.last.ck = block(t, tt.ik), block(t, tt.ck)
		u.master([]byte(identity))
		if got := u.mk[:len(tt.want)/2]; !bytes.Equal(got, octets(t, tt.want)) {
			t.Errorf("%s, AUTN %s: keys are %x, want %s", tt.network, tt.autn, got, tt.want)
		}
	}
}

const testIdentity = "001010000000007"

func newEAPPair(t *testing.T) *pair {
	t.Helper()
	p := newPair(t, rv.SQN{})
	p.of.Identity = []byte(testIdentity)
	return p
}

func TestEAP(t *testing.T) {
	p := newEAPPair(t)
	skippable := fivegtest.Attribute(135)
	for _, more := range [][][]byte{nil, {skippable}} {
		s := p.home.Challenge(testIdentity, more...)
		if failed := p.respond(fivegtest.JSON(s.Packet)); failed != "" {
			t.Fatal(failed)
		}
		got := p.answers()
		if err := s.Accept(got[rv.AnswerEAP]); err != nil {
			t.Error(err)
		}
		if got[rv.AnswerKSEAF] != s.KSEAF(p.home.Network) || got[rv.AnswerRESStar] != "" {
			t.Errorf("answers are %v, want KSEAF %s", got, s.KSEAF(p.home.Network))
		}
	}
	highest := p.home.SQN
	p.home.SQN -= 2
	s := p.home.Challenge(testIdentity)
	if failed := p.respond(fivegtest.JSON(s.Packet)); failed != "" || !p.usim.Stale() {
		t.Fatalf("failed %q, stale %v", failed, p.usim.Stale())
	}
	got := p.answers()
	auts, err := s.AUTS(got[rv.AnswerEAP])
	if err != nil || auts != got[rv.AnswerAUTS] {
		t.Errorf("AUTS is %q, want %q: %v", auts, got[rv.AnswerAUTS], err)
	}
	if err := p.home.Resynchronize(hex.EncodeToString(s.Vector.RAND), auts); err != nil || p.home.SQN != highest {
		t.Errorf("SQN is %x, want %x: %v", p.home.SQN, highest, err)
	}
	s = p.home.Challenge(testIdentity)
	session := []byte(`{"eapPayload":"` + base64.StdEncoding.EncodeToString(s.Packet) + `"}`)
	if failed := p.respond(session); failed != "" || s.Accept(p.answers()[rv.AnswerEAP]) != nil {
		t.Errorf("the challenge after the resynchronization failed: %q", failed)
	}
	if got := p.usim.AppendAnswer(nil, rv.AnswerEAP); len(got) == 0 {
		t.Error("no response")
	}
	p.fresh(p.home.Vector()) // 5G AKA with the same USIM
}

func TestFailedEAP(t *testing.T) {
	const reject, processing = "02", "0e"
	for _, tt := range []struct {
		name, want, subtype string
		change              func(p *pair, packet []byte) []byte
	}{
		{"AT_MAC", rv.CheckUSIMEAPMAC, processing, func(_ *pair, b []byte) []byte { b[len(b)-1] ^= 1; return b }},
		{"another identity", rv.CheckUSIMEAPMAC, processing, func(p *pair, b []byte) []byte { p.of.Identity = []byte("x"); return b }},
		{"AUTN", rv.CheckUSIMMAC, reject, func(_ *pair, b []byte) []byte { b[8+20+4] ^= 1; return b }},
		{"AT_KDF", rv.CheckUSIMKDF, reject, func(_ *pair, b []byte) []byte { b[8+20+20+3] = 2; return b }},
		{"AT_KDF_INPUT", rv.CheckUSIMNetwork, reject, func(p *pair, b []byte) []byte { p.of.Network = []byte("5G:x"); return b }},
		{"length", rv.CheckUSIMEAP, processing, func(_ *pair, b []byte) []byte { b[3]++; return b }},
		{"type", rv.CheckUSIMEAP, processing, func(_ *pair, b []byte) []byte { b[4] = 23; return b }},
		{"attribute without a length", rv.CheckUSIMEAP, processing, func(_ *pair, b []byte) []byte { b[9] = 0; return b }},
		{"attribute that is too long", rv.CheckUSIMEAP, processing, func(_ *pair, b []byte) []byte { b[len(b)-19]++; return b }},
		{"unknown attribute", rv.CheckUSIMEAP, processing, func(_ *pair, b []byte) []byte { b[8] = 9; return b }},
		{"attribute that occurs twice", rv.CheckUSIMEAP, processing, func(_ *pair, b []byte) []byte { b[8] = 2; return b }},
		{"cut", rv.CheckUSIMEAP, "", func(_ *pair, b []byte) []byte { return b[:1] }},
		{"success", rv.CheckUSIMEAP, processing, func(*pair, []byte) []byte { return []byte{3, 7, 0, 4} }},
	} {
		p := newEAPPair(t)
		s := p.home.Challenge(testIdentity)
		failed := p.respond(fivegtest.JSON(tt.change(p, s.Packet)))
		text := p.usim.AppendAnswer(nil, rv.AnswerEAP)
		response, err := base64.StdEncoding.AppendDecode(nil, text)
		subtype := ""
		if len(response) > 5 {
			subtype = hex.EncodeToString(response[5:6])
		}
		if failed != tt.want || subtype != tt.subtype || err != nil {
			t.Errorf("%s: failed %q with subtype %q, want %q with %q", tt.name, failed, subtype, tt.want, tt.subtype)
		}
	}
}

// FuzzEAP: no packet makes the USIM panic, and only a challenge of the home network passes.
func FuzzEAP(f *testing.F) {
	home := fivegtest.Home{K: bytes.Repeat([]byte{1}, 16), OPc: bytes.Repeat([]byte{2}, 16), AMF: [2]byte{0x80}, Step: 1, Network: "5G:x"}
	right := home.Challenge(testIdentity).Packet
	f.Add(right)
	f.Add(right[:40])
	f.Add([]byte{1, 1, 0, 8, 50, 1, 0, 0})
	f.Add(append(append([]byte{1, 1, 0, 16, 50, 1, 0, 0}, fivegtest.Attribute(24, 0, 1)...), fivegtest.Attribute(24, 0, 2)...))
	f.Fuzz(func(t *testing.T, packet []byte) {
		var u USIM
		of := Subscriber{K: [16]byte(home.K), OPc: [16]byte(home.OPc), Network: []byte(home.Network), Identity: []byte(testIdentity)}
		failed := u.Respond(fivegtest.JSON(packet), &of, NewSequences(rv.SQN{}), 0)
		if failed == "" && !bytes.Equal(packet, right) && !u.Stale() {
			t.Errorf("%x passes", packet)
		}
		response, err := base64.StdEncoding.AppendDecode(nil, u.AppendAnswer(nil, rv.AnswerEAP))
		if err != nil || len(response)%4 != 0 || len(response) > 0 && int(response[3]) != len(response) {
			t.Errorf("the response %x is not a packet", response)
		}
	})
}
