package fiveg

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/hmac"
)

// Subscribers are the identities and keys of subscribers. They are computed from the number of a subscriber, so their
// memory does not depend on how many they are.
type Subscribers struct {
	start   int64
	columns []rv.Column
	// imsi and msisdn are what precedes the digits of the number.
	imsi, msisdn             []byte
	imsiDigits, msisdnDigits int
	suci, servingNetwork     []byte
	concealer                *concealer // nil: the null scheme
	tac                      int64
	softwareVersion          string
	ipv4                     uint32
	high, low                uint64 // of the IPv6 pool
	prefixLength             int
	k, op, opc               [KeySize]byte
	derived, computesOPc     bool
	shared                   cipher.Block // with k; nil if it is derived
}

// NewSubscribers returns the subscribers of a plan. content reads their keys. Its errors are a *rv.PlanError with the
// field of in.
func NewSubscribers(in *rv.Subscribers, content func(*rv.Content) ([]byte, error)) (*Subscribers, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	p := in.SUPI
	s := &Subscribers{
		start: in.Start, columns: in.Columns(),
		imsi: []byte("imsi-" + p.MCC + p.MNC), imsiDigits: p.Digits - len(p.MCC) - len(p.MNC),
		servingNetwork: fmt.Appendf(nil, "5G:mnc%03s.mcc%s.3gppnetwork.org", p.MNC, p.MCC),
	}
	if g := in.GPSI; g != nil {
		s.msisdn, s.msisdnDigits = []byte("msisdn-"+g.Prefix), g.Digits-len(g.Prefix)
	}
	if p := in.PEI; p != nil {
		s.tac, _ = strconv.ParseInt(p.TAC, 10, 64) // Check found only digits
		s.softwareVersion = p.SoftwareVersion
	}
	if p := in.IPv4; p != nil {
		first := netip.MustParsePrefix(p.Pool).Addr().As4() // Check parsed it
		s.ipv4 = binary.BigEndian.Uint32(first[:])
	}
	if p := in.IPv6Prefix; p != nil {
		first := netip.MustParsePrefix(p.Pool).Addr().As16() // Check parsed it
		s.high, s.low, s.prefixLength = binary.BigEndian.Uint64(first[:]), binary.BigEndian.Uint64(first[8:]), p.Length
	}
	if err := s.setSUCI(in); err != nil {
		return nil, err
	}
	return s, s.keys(in.AKA, content)
}

// setSUCI sets what precedes the scheme output of a SUCI (TS 23.003 2.2B), and the concealer.
func (s *Subscribers) setSUCI(in *rv.Subscribers) (err error) {
	routing, key := "0", 0
	if in.SUCI != nil {
		routing = cmp.Or(in.SUCI.RoutingIndicator, routing)
	}
	scheme := in.SUCI.Scheme()
	if scheme > 0 {
		key = cmp.Or(in.SUCI.KeyID, 1)
		s.concealer, err = newConcealer(in.SUCI)
	}
	s.suci = fmt.Appendf(nil, "suci-0-%s-%s-%s-%d-%d-", in.SUPI.MCC, in.SUPI.MNC, routing, scheme, key)
	return err
}

func (s *Subscribers) keys(in *rv.AKA, content func(*rv.Content) ([]byte, error)) (err error) {
	if in == nil {
		return nil
	}
	s.derived, s.computesOPc = in.Derived, in.OP != nil
	if s.k, err = key(content, "k", &in.K); err != nil {
		return err
	}
	if !s.derived {
		s.shared, err = aes.NewCipher(s.k[:])
		if err != nil {
			return err
		}
	}
	if in.OP != nil {
		s.op, err = key(content, "op", in.OP)
		s.opc = OPc(s.k, s.op)
		return err
	}
	s.opc, err = key(content, "opc", in.OPc)
	return err
}

func key(content func(*rv.Content) ([]byte, error), field string, in *rv.Content) ([KeySize]byte, error) {
	text, err := content(in)
	if err != nil {
		return [KeySize]byte{}, rv.InField("aka."+field, err)
	}
	k, err := rv.Key(text)
	if err != nil {
		return k, rv.InField("aka."+field, err)
	}
	return k, nil
}

// Columns returns the names of the columns.
func (s *Subscribers) Columns() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = string(c)
	}
	return names
}

// Plain returns true: all values have only octets that are allowed in a request target and a field value.
func (s *Subscribers) Plain() bool { return true }

// Append appends the value of a column of the subscriber v, both from 0.
func (s *Subscribers) Append(dst []byte, v int64, column int) []byte {
	n := s.start + v
	switch s.columns[column] {
	case rv.ColumnSUPI:
		return s.appendSUPI(dst, n)
	case rv.ColumnSUCI:
		dst = append(dst, s.suci...)
		if s.concealer != nil {
			return s.concealer[n%ephemeralKeys].appendOutput(dst, n, s.imsiDigits)
		}
		return octet.AppendDecimal(dst, n, s.imsiDigits)
	case rv.ColumnServingNetwork:
		return append(dst, s.servingNetwork...)
	case rv.ColumnGPSI:
		return octet.AppendDecimal(append(dst, s.msisdn...), n, s.msisdnDigits)
	case rv.ColumnPEI:
		return s.appendPEI(dst, n)
	case rv.ColumnIPv4:
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], s.ipv4+uint32(n))
		return netip.AddrFrom4(a).AppendTo(dst)
	case rv.ColumnIPv6Prefix:
		return s.appendPrefix(dst, n)
	case rv.ColumnK:
		k, _ := s.keysOf(n)
		return hex.AppendEncode(dst, k[:])
	case rv.ColumnOPc:
		_, opc := s.keysOf(n)
		return hex.AppendEncode(dst, opc[:])
	}
	return dst
}

func (s *Subscribers) appendSUPI(dst []byte, n int64) []byte {
	return octet.AppendDecimal(append(dst, s.imsi...), n, s.imsiDigits)
}

// appendPEI appends imei- and 15 digits, or imeisv- and 16 digits.
func (s *Subscribers) appendPEI(dst []byte, n int64) []byte {
	const serials = 1_000_000
	name := "imei-"
	if s.softwareVersion != "" {
		name = "imeisv-"
	}
	dst = append(dst, name...)
	at := len(dst)
	dst = octet.AppendDecimal(dst, s.tac+n/serials, 8)
	dst = octet.AppendDecimal(dst, n%serials, 6)
	if s.softwareVersion != "" {
		return append(dst, s.softwareVersion...)
	}
	return append(dst, luhn(dst[at:]))
}

// luhn returns the check digit of 14 digits (TS 23.003 B.2): every second digit, from the second on, is doubled, and
// the sum of all digits including the check digit is a multiple of ten.
func luhn(digits []byte) byte {
	sum := 0
	for i, c := range digits {
		d := int(c - '0')
		if i%2 == 1 {
			d = d*2/10 + d*2%10
		}
		sum += d
	}
	return byte('0' + (10-sum%10)%10)
}

// appendPrefix appends the IPv6 prefix that is n prefixes after the first one.
func (s *Subscribers) appendPrefix(dst []byte, n int64) []byte {
	var a [16]byte
	shift := uint(128 - s.prefixLength)
	high, low := uint64(n)<<(shift-64), uint64(0) // a shift by 64 or more gives 0
	if shift < 64 {
		high, low = uint64(n)>>(64-shift), uint64(n)<<shift
	}
	low, carry := bits.Add64(s.low, low, 0)
	high, _ = bits.Add64(s.high, high, carry)
	binary.BigEndian.PutUint64(a[:], high)
	binary.BigEndian.PutUint64(a[8:], low)
	dst = append(netip.AddrFrom16(a).AppendTo(dst), '/')
	return strconv.AppendInt(dst, int64(s.prefixLength), 10)
}

// SetKeys sets the keys of the subscriber v, from 0.
func (s *Subscribers) SetKeys(to *Subscriber, v int64) {
	to.K, to.OPc = s.keysOf(s.start + v)
	to.Cipher = s.shared
}

// keysOf returns K and OPc of the subscriber with the number n.
func (s *Subscribers) keysOf(n int64) (k, opc [KeySize]byte) {
	if !s.derived {
		return s.k, s.opc
	}
	k = s.derive(n)
	if !s.computesOPc {
		return k, s.opc
	}
	return k, OPc(k, s.op)
}

// derive returns the first half of the HMAC of the SUPI with the key k.
func (s *Subscribers) derive(n int64) [KeySize]byte {
	var supi [len("imsi-") + 15]byte
	var buf [hmac.Buffer]byte
	sum, _ := hmac.Sum(buf[:], s.k[:], s.appendSUPI(supi[:0], n))
	return [KeySize]byte(sum[:])
}
