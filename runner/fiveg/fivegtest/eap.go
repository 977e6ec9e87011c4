package fivegtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// EAP is the server of EAP-AKA' (RFC 9048) for one challenge.
type EAP struct {
	Vector Vector
	// MK is K_encr, K_aut, K_re, MSK and EMSK.
	MK []byte
	// Packet is the challenge.
	Packet []byte
	res    []byte
}

// Attribute returns an attribute. Its value includes reserved octets, and gets padding.
func Attribute(kind byte, value ...byte) []byte {
	for len(value)%4 != 2 {
		value = append(value, 0)
	}
	return append([]byte{kind, byte((len(value) + 2) / 4)}, value...)
}

// Challenge returns a challenge with the next vector for a subscriber with the identity. more are attributes before
// AT_MAC.
func (h *Home) Challenge(identity string, more ...[]byte) *EAP {
	v := h.Vector()
	s := &EAP{Vector: v}
	var ck, ik []byte
	s.res, ck, ik, _, _ = h.F2345(v.RAND)
	keys := KDF(append(bytes.Clone(ck), ik...), 0x20, []byte(h.Network), v.AUTN[:6])
	prf := hmac.New(sha256.New, append(bytes.Clone(keys[16:]), keys[:16]...))
	var last []byte
	for i := byte(1); len(s.MK) < 208; i++ {
		prf.Reset()
		fmt.Fprintf(prf, "%sEAP-AKA'%s%c", last, identity, i)
		last = prf.Sum(nil)
		s.MK = append(s.MK, last...)
	}
	name := binary.BigEndian.AppendUint16(nil, uint16(len(h.Network)))
	s.Packet = slicesOf(
		[]byte{1, byte(h.SQN), 0, 0, 50, 1, 0, 0},
		Attribute(1, append([]byte{0, 0}, v.RAND...)...), Attribute(2, append([]byte{0, 0}, v.AUTN...)...),
		Attribute(24, 0, 1), Attribute(23, append(name, h.Network...)...), slicesOf(more...),
		Attribute(11, make([]byte, 18)...),
	)
	binary.BigEndian.PutUint16(s.Packet[2:], uint16(len(s.Packet)))
	copy(s.Packet[len(s.Packet)-16:], s.mac(s.Packet))
	return s
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func (s *EAP) mac(packet []byte) []byte {
	h := hmac.New(sha256.New, s.MK[16:48])
	h.Write(packet)
	return h.Sum(nil)[:16]
}

// JSON returns UEAuthenticationCtx of TS 29.509 with a packet.
func JSON(packet []byte) []byte {
	return fmt.Appendf(nil, `{"authType":"EAP_AKA_PRIME","5gAuthData":%q}`, base64.StdEncoding.EncodeToString(packet))
}

// Accept verifies the response to the challenge.
func (s *EAP) Accept(text string) error {
	p, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	if want := s.Response(); !bytes.Equal(p, want) {
		return fmt.Errorf("the response is %x, want %x", p, want)
	}
	return nil
}

// Response returns the response to the challenge.
func (s *EAP) Response() []byte {
	want := slicesOf([]byte{2, s.Packet[1], 0, 0, 50, 1, 0, 0}, Attribute(3, append([]byte{0, 64}, s.res...)...),
		Attribute(11, make([]byte, 18)...))
	binary.BigEndian.PutUint16(want[2:], uint16(len(want)))
	copy(want[len(want)-16:], s.mac(want))
	return want
}

// AUTS returns AUTS of a synchronization failure, in hexadecimal digits.
func (s *EAP) AUTS(text string) (string, error) {
	p, err := base64.StdEncoding.DecodeString(text)
	head := []byte{2, s.Packet[1], 0, 28, 50, 4, 0, 0, 4, 4}
	if err != nil || len(p) != 28 || !bytes.HasPrefix(p, head) || !bytes.Equal(p[24:], Attribute(24, 0, 1)) {
		return "", errors.New("not a synchronization failure: " + text)
	}
	return hex.EncodeToString(p[10:24]), nil
}

// KSEAF returns KSEAF for a serving network (TS 33.501 A.6 and F).
func (s *EAP) KSEAF(network string) string {
	return hex.EncodeToString(KDF(s.MK[144:176], 0x6c, []byte(network)))
}
