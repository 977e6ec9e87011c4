package fiveg

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/runner/hmac"
)

// Subscriber is what a USIM has of its subscriber.
type Subscriber struct {
	K, OPc [KeySize]byte
	// Cipher is AES with the key K, if all subscribers have this key; or nil.
	Cipher cipher.Block
	// Network is the serving network name, and Identity the IMSI.
	Network, Identity []byte
}

// challenges are the members with a challenge in the content of a response: AuthData of UEAuthenticationCtx and
// eapPayload of EapSession (TS 29.509), and authenticationVector of AuthenticationInfoResult (TS 29.503). A string is a
// packet of EAP. vector are the members of a challenge of 5G AKA.
var challenges, vector = []string{"5gAuthData", "eapPayload", "authenticationVector"}, []string{"rand", "autn"}

// Respond verifies the challenge in the content of a response for a subscriber, whose number in q is n. It returns the
// name of the check that failed, or "". A sequence number that is not fresh is not a failure: AUTS is then the answer.
//
// AppendAnswer returns the answers, until the next call.
func (u *USIM) Respond(content []byte, of *Subscriber, q *Sequences, n int64) (failed string) {
	u.stale, u.answered, u.eap = false, false, u.eap[:0]
	data := u.challenge(content)
	if len(data) == 0 {
		return rv.CheckUSIMChallenge
	}
	u.setKeys(of.K, of.OPc, of.Cipher)
	u.network = append(u.network[:0], of.Network...)
	if data[0] != '{' {
		return u.respondEAP(data, of, q, n)
	}
	var values [2][]byte
	if !jsontext.Members(values[:], data, vector) || !key128(&u.rand, values[0]) || !key128(&u.autn, values[1]) {
		return rv.CheckUSIMChallenge
	}
	return u.verify(q, n)
}

// challenge returns the challenge in the content of a response, or nothing.
func (u *USIM) challenge(content []byte) []byte {
	var values [3][]byte
	if !jsontext.Members(values[:], content, challenges) {
		return nil
	}
	for _, raw := range values {
		if raw != nil {
			return jsontext.Text(u.work[:0], raw)
		}
	}
	return nil
}

// key128 decodes the hexadecimal digits of 128 bits in JSON text.
func key128(to *[KeySize]byte, raw []byte) bool {
	var buf [2 * KeySize]byte
	var err error
	*to, err = rv.Key(jsontext.Text(buf[:0], raw))
	return err == nil
}

// verify checks MAC and SQN of AUTN (TS 33.102 6.3.3), and the separation bit of AMF (TS 33.501 6.1.3).
func (u *USIM) verify(q *Sequences, n int64) (failed string) {
	u.last = u.answer(u.rand)
	var sqn [sqnSize]byte
	subtle.XORBytes(sqn[:], u.autn[:], u.last.ak[:])
	amf := [2]byte(u.autn[sqnSize:])
	if expected, _ := u.macs(sqn, amf); expected != mac(u.autn[sqnSize+len(amf):]) {
		return rv.CheckUSIMMAC
	}
	const separation = 0x80
	if amf[0]&separation == 0 {
		return rv.CheckUSIMAMF
	}
	u.answered = true
	highest, fresh := q.accept(n, sqnOf(sqn))
	if u.stale = !fresh; u.stale {
		u.resynchronize(octetsOf(highest))
	}
	return ""
}

// resynchronize makes AUTS: SQN_MS xor AK of f5*, and MAC-S, whose AMF is 0 (TS 33.102 6.3.3).
func (u *USIM) resynchronize(sqn [sqnSize]byte) {
	_, s := u.macs(sqn, [2]byte{})
	ak := u.resyncKey()
	subtle.XORBytes(u.auts[:], sqn[:], ak[:])
	copy(u.auts[sqnSize:], s[:])
}

// Stale reports whether the sequence number of the last challenge was not fresh.
func (u *USIM) Stale() bool { return u.stale }

// AppendAnswer appends an answer to the last challenge, or nothing if it has no such answer.
func (u *USIM) AppendAnswer(dst []byte, name rv.Answer) []byte {
	switch {
	case name == rv.AnswerEAP:
		return base64.StdEncoding.AppendEncode(dst, u.eap)
	case !u.answered:
		return dst
	case name == rv.AnswerRAND:
		return hex.AppendEncode(dst, u.rand[:])
	case name == rv.AnswerAUTS && u.stale:
		return hex.AppendEncode(dst, u.auts[:])
	case u.stale:
		return dst
	case name == rv.AnswerRESStar && len(u.eap) == 0:
		return u.appendRESStar(dst, u.network, &u.rand, &u.last)
	case name == rv.AnswerKSEAF:
		return u.appendKSEAF(dst)
	}
	return dst
}

// appendKSEAF appends KSEAF (TS 33.501 A.6), derived from KAUSF: the first half of EMSK for EAP-AKA' (F), else A.2.
func (u *USIM) appendKSEAF(dst []byte) []byte {
	const fcAUSF, fcSEAF, emsk = 0x6a, 0x6c, 144
	u.text = append(u.text[:0], fcAUSF)
	u.parameter(u.network)
	u.parameter(u.autn[:sqnSize])
	u.work = append(append(u.work[:0], u.last.ck[:]...), u.last.ik[:]...)
	kausf := u.derive()
	if len(u.eap) > 0 {
		copy(kausf[:], u.mk[emsk:])
	}
	u.text = append(u.text[:0], fcSEAF)
	u.parameter(u.network)
	u.work = append(u.work[:0], kausf[:]...)
	kseaf := u.derive()
	return hex.AppendEncode(dst, kseaf[:])
}

// derive returns HMAC-SHA-256 with the key in work over text (TS 33.220 B.2).
func (u *USIM) derive() (sum [hmac.Size]byte) {
	sum, u.work = hmac.Sum(u.work, u.work, u.text)
	return sum
}
