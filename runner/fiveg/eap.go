package fiveg

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	sums "github.com/h2surge/h2surge/runner/hmac"
)

// Codes of EAP (RFC 3748 4), and the type and subtypes of EAP-AKA' (RFC 9048 6.1, RFC 4187 11).
const (
	eapRequest, eapResponse = 1, 2
	eapAKAPrime             = 50

	akaChallenge      = 1
	akaReject         = 2
	akaSynchronize    = 4
	akaClientError    = 14
	eapHeader         = 8 // with type, subtype and two reserved octets
	firstSkippable    = 128
	unableToProcess   = 0
	attributeWord     = 4
	macSize           = 16
	maxEAP            = 4096
	akaPrimeKDF       = 1
	attributeOfOctets = 2 // type and length
)

// Attributes (RFC 4187 11, RFC 9048 8).
const (
	atRAND        = 1
	atAUTN        = 2
	atRES         = 3
	atAUTS        = 4
	atMAC         = 11
	atClientError = 22
	atKDFInput    = 23
	atKDF         = 24
)

// challengePacket is what an EAP-Request/AKA'-Challenge has. The slices are parts of the packet.
type challengePacket struct {
	identifier      byte
	rand, autn, mac []byte
	network         []byte
	// kdfs is from the value of the first AT_KDF, which the core prefers, to the value of the last one.
	kdfs []byte
}

// parse reads a packet. ok is false if it is not a challenge of EAP-AKA' (RFC 9048 3.5, RFC 4187 8.1).
func (c *challengePacket) parse(p []byte) (ok bool) {
	if len(p) < eapHeader || p[0] != eapRequest || int(binary.BigEndian.Uint16(p[2:])) != len(p) ||
		p[4] != eapAKAPrime || p[5] != akaChallenge {
		return false
	}
	c.identifier = p[1]
	for rest := p[eapHeader:]; len(rest) > 0; {
		if len(rest) < attributeWord || rest[1] == 0 || len(rest) < attributeWord*int(rest[1]) {
			return false
		}
		size := attributeWord * int(rest[1])
		if !c.attribute(rest[0], rest[attributeOfOctets:size]) {
			return false
		}
		rest = rest[size:]
	}
	return c.rand != nil && c.autn != nil && c.mac != nil && c.network != nil && len(c.kdfs) > 0
}

// attribute takes the value of an attribute, with its reserved octets. An attribute must not occur twice, except
// AT_KDF.
func (c *challengePacket) attribute(kind byte, value []byte) bool {
	switch kind {
	case atRAND:
		return block128(&c.rand, value)
	case atAUTN:
		return block128(&c.autn, value)
	case atMAC:
		return block128(&c.mac, value)
	case atKDFInput:
		n := int(binary.BigEndian.Uint16(value))
		if c.network != nil || n == 0 || n > len(value)-2 || len(value)-2-n >= attributeWord {
			return false
		}
		c.network = value[2 : 2+n]
		return true
	case atKDF:
		if len(value) != 2 {
			return false
		}
		return c.kdf(value)
	}
	return kind >= firstSkippable
}

// kdf takes the value of AT_KDF. All of these attributes must be adjacent.
func (c *challengePacket) kdf(value []byte) bool {
	if c.kdfs == nil {
		c.kdfs = value
		return true
	}
	c.kdfs = c.kdfs[:len(c.kdfs)+attributeWord]
	return &c.kdfs[len(c.kdfs)-len(value)] == &value[0]
}

// block128 takes a value of 128 bits after two reserved octets.
func block128(to *[]byte, value []byte) bool {
	if *to != nil || len(value) != 2+KeySize {
		return false
	}
	*to = value[2:]
	return true
}

// respondEAP verifies a challenge in base64 and makes the response. It returns the name of the check that failed, or
// "".
func (u *USIM) respondEAP(text []byte, of *Subscriber, q *Sequences, n int64) (failed string) {
	if base64.StdEncoding.DecodedLen(len(text)) > maxEAP {
		return rv.CheckUSIMEAP
	}
	var err error
	if u.packet, err = base64.StdEncoding.AppendDecode(u.packet[:0], text); err != nil {
		return rv.CheckUSIMEAP
	}
	c := challengePacket{}
	if !c.parse(u.packet) {
		if len(u.packet) > 1 {
			u.clientError(u.packet[1])
		}
		return rv.CheckUSIMEAP
	}
	switch {
	case binary.BigEndian.Uint16(c.kdfs) != akaPrimeKDF:
		failed = rv.CheckUSIMKDF
	case !bytes.Equal(c.network, of.Network):
		failed = rv.CheckUSIMNetwork
	default:
		u.rand, u.autn = [KeySize]byte(c.rand), [KeySize]byte(c.autn)
		failed = u.verify(q, n)
	}
	if failed != "" {
		u.begin(akaReject, c.identifier)
		u.end()
		return failed
	}
	return u.answerEAP(&c, of)
}

// answerEAP answers a challenge whose AUTN is right.
func (u *USIM) answerEAP(c *challengePacket, of *Subscriber) (failed string) {
	if u.stale {
		u.begin(akaSynchronize, c.identifier)
		u.eap = append(append(u.eap, atAUTS, 4), u.auts[:]...)
		for i := 0; i < len(c.kdfs); i += attributeWord {
			u.eap = append(u.eap, atKDF, 1, c.kdfs[i], c.kdfs[i+1])
		}
		u.end()
		return ""
	}
	u.master(of.Identity)
	got := [macSize]byte(c.mac)
	clear(c.mac)
	if want := u.macOf(u.packet); !hmac.Equal(want[:], got[:]) {
		u.answered = false
		u.clientError(c.identifier)
		return rv.CheckUSIMEAPMAC
	}
	u.begin(akaChallenge, c.identifier)
	u.eap = append(append(u.eap, atRES, 3, 0, byte(8*len(u.last.res))), u.last.res[:]...)
	u.eap = append(append(u.eap, atMAC, 5, 0, 0), make([]byte, macSize)...)
	u.end()
	mac := u.macOf(u.eap)
	copy(u.eap[len(u.eap)-macSize:], mac[:])
	return ""
}

// begin begins a response, and end sets its length.
func (u *USIM) begin(subtype, identifier byte) {
	u.eap = append(u.eap[:0], eapResponse, identifier, 0, 0, eapAKAPrime, subtype, 0, 0)
}

func (u *USIM) end() { binary.BigEndian.PutUint16(u.eap[2:], uint16(len(u.eap))) }

func (u *USIM) clientError(identifier byte) {
	u.begin(akaClientError, identifier)
	u.eap = append(u.eap, atClientError, 1, 0, unableToProcess)
	u.end()
}

// macOf returns AT_MAC of a packet whose AT_MAC is 0 (RFC 9048 3.4).
func (u *USIM) macOf(packet []byte) [macSize]byte {
	u.work = append(u.work[:0], u.mk[16:48]...) // K_aut
	var sum [sums.Size]byte
	sum, u.work = sums.Sum(u.work, u.work, packet)
	return [macSize]byte(sum[:])
}

// master derives CK' and IK' (TS 33.402 A.2), and from them the master key MK (RFC 9048 3.3): K_encr (16 octets), K_aut
// (32), K_re (32), MSK (64) and the first 48 octets of EMSK.
func (u *USIM) master(identity []byte) {
	const fc = 0x20
	u.text = append(u.text[:0], fc)
	u.parameter(u.network)
	u.parameter(u.autn[:sqnSize])
	u.work = append(append(u.work[:0], u.last.ck[:]...), u.last.ik[:]...)
	keys := u.derive()
	for i := range len(u.mk) / sums.Size {
		u.text = u.text[:0]
		if i > 0 {
			u.text = append(u.text, u.mk[(i-1)*sums.Size:i*sums.Size]...)
		}
		u.text = append(append(u.text, "EAP-AKA'"...), identity...)
		u.text = append(u.text, byte(i+1))
		u.work = append(append(u.work[:0], keys[KeySize:]...), keys[:KeySize]...)
		sum := u.derive()
		copy(u.mk[i*sums.Size:], sum[:])
	}
}
