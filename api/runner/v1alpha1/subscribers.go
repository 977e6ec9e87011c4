package v1alpha1

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Subscribers are subscribers whose identities are functions of their numbers, Start to Start+Count-1. A part of a text
// says which column it takes, as for a table.
type Subscribers struct {
	Start int64 `json:"start,omitempty"`
	Count int64 `json:"count"`
	SUPI  SUPI  `json:"supi"`
	// A column that is nil does not exist.
	GPSI       *GPSI     `json:"gpsi,omitempty"`
	PEI        *PEI      `json:"pei,omitempty"`
	IPv4       *IPv4Pool `json:"ipv4,omitempty"`
	IPv6Prefix *IPv6Pool `json:"ipv6Prefix,omitempty"`
	AKA        *AKA      `json:"aka,omitempty"`
	// SUCI is nil for the null scheme with routing indicator 0.
	SUCI *SUCI `json:"suci,omitempty"`
}

// SUPI is an IMSI: MCC, MNC and the number of the subscriber, in all Digits digits.
type SUPI struct {
	MCC    string `json:"mcc"`
	MNC    string `json:"mnc"`
	Digits int    `json:"digits"`
}

// GPSI is an MSISDN: Prefix and the number of the subscriber, in all Digits digits.
type GPSI struct {
	Prefix string `json:"prefix"`
	Digits int    `json:"digits"`
}

// PEI is an IMEI, or an IMEISV if SoftwareVersion is set. The serial number has the last six digits of the subscriber's
// number. The other digits are added to TAC.
type PEI struct {
	TAC             string `json:"tac"`
	SoftwareVersion string `json:"softwareVersion,omitempty"`
}

// IPv4Pool has the address of the subscriber with number 0 first.
type IPv4Pool struct {
	// Pool is a prefix, such as 10.0.0.0/8.
	Pool string `json:"pool"`
}

// IPv6Pool has the prefix of the subscriber with number 0 first.
type IPv6Pool struct {
	// Pool is a prefix, such as 2001:db8::/32.
	Pool string `json:"pool"`
	// Length of the prefix of a subscriber.
	Length int `json:"length"`
}

// AKA are the keys of the subscribers' USIMs. Each content has 32 hexadecimal digits. Exactly one of OP and OPc is set.
type AKA struct {
	K Content `json:"k"`
	// Derived: K of a subscriber is the first half of HMAC-SHA-256 with the key K over the SUPI.
	Derived bool     `json:"derived,omitempty"`
	OP      *Content `json:"op,omitempty"`
	OPc     *Content `json:"opc,omitempty"`
	// SQN is how the USIMs verify sequence numbers.
	SQN SQN `json:"sqn,omitzero"`
}

// Column is a column of subscribers.
type Column string

// The columns of subscribers.
const (
	ColumnSUPI           Column = "supi"
	ColumnSUCI           Column = "suci"
	ColumnServingNetwork Column = "servingNetwork"
	ColumnGPSI           Column = "gpsi"
	ColumnPEI            Column = "pei"
	ColumnIPv4           Column = "ipv4"
	ColumnIPv6Prefix     Column = "ipv6Prefix"
	ColumnK              Column = "k"
	ColumnOPc            Column = "opc"
)

// Columns returns the columns that the subscribers have, in a fixed order.
func (s *Subscribers) Columns() []Column {
	out := []Column{ColumnSUPI, ColumnSUCI, ColumnServingNetwork}
	for _, c := range []struct {
		name Column
		has  bool
	}{
		{ColumnGPSI, s.GPSI != nil}, {ColumnPEI, s.PEI != nil}, {ColumnIPv4, s.IPv4 != nil},
		{ColumnIPv6Prefix, s.IPv6Prefix != nil}, {ColumnK, s.AKA != nil}, {ColumnOPc, s.AKA != nil},
	} {
		if c.has {
			out = append(out, c.name)
		}
	}
	return out
}

// Bounds of subscribers.
const (
	// MaxSubscribers bounds Start and Count: the number of MSINs with ten digits.
	MaxSubscribers = 1e10
	// An IMSI and an MSISDN have 5 to 15 digits (TS 29.571 5.3.2).
	minIdentity, maxIdentity = 5, 15
)

func invalid(field, format string, args ...any) error {
	return InField(field, fmt.Errorf(format, args...))
}

// Check returns a PlanError if a field is wrong, or if a subscriber has no identity.
func (s *Subscribers) Check() error {
	const most = int64(MaxSubscribers)
	if s.Count < 1 || s.Count > most || s.Start < 0 || s.Start > most {
		return invalid("", "count must be from 1 to %d, and start from 0 to %d", most, most)
	}
	if err := s.enough(string(ColumnSUPI), &s.SUPI); err != nil {
		return err
	}
	for _, column := range s.Columns() {
		if err := s.checkColumn(column); err != nil {
			return err
		}
	}
	if err := s.SUCI.check(); err != nil {
		return err
	}
	return s.AKA.check()
}

func (a *AKA) check() error {
	switch {
	case a == nil:
		return nil
	case (a.OP == nil) == (a.OPc == nil):
		return invalid("aka", "exactly one of op and opc is needed")
	case a.SQN.IndBits < 0 || a.SQN.IndBits > MaxIndBits:
		return invalid("aka.sqn.indBits", "must be from 0 to %d", MaxIndBits)
	case a.SQN.Delta < 0 || a.SQN.Delta > MaxDelta:
		return invalid("aka.sqn.delta", "must be from 0 to %d", int64(MaxDelta))
	}
	return nil
}

func (s *Subscribers) checkColumn(c Column) error {
	switch c {
	case ColumnGPSI:
		return s.enough(string(c), s.GPSI)
	case ColumnPEI:
		return s.enough(string(c), s.PEI)
	case ColumnIPv4:
		return s.enough(string(c), s.IPv4)
	case ColumnIPv6Prefix:
		return s.enough(string(c), s.IPv6Prefix)
	case ColumnSUPI, ColumnSUCI, ColumnServingNetwork, ColumnK, ColumnOPc:
	}
	return nil
}

// identities are the values of a column.
type identities interface {
	// numbers returns how many numbers of subscribers have a value, counted from 0. Its error has the field below field.
	numbers(field string) (int64, error)
}

// enough checks that each subscriber has a value.
func (s *Subscribers) enough(field string, in identities) error {
	n, err := in.numbers(field)
	if err == nil && s.Start+s.Count > n {
		err = invalid(field, "has values for the numbers 0 to %d, but start and count need %d to %d", n-1, s.Start,
			s.Start+s.Count-1)
	}
	return err
}

func (s *SUPI) numbers(field string) (int64, error) {
	switch {
	case len(s.MCC) != 3 || !decimal(s.MCC):
		return 0, invalid(field+".mcc", "must have 3 digits")
	case len(s.MNC) < 2 || len(s.MNC) > 3 || !decimal(s.MNC):
		return 0, invalid(field+".mnc", "must have 2 or 3 digits")
	}
	return below(field, len(s.MCC)+len(s.MNC), s.Digits)
}

func (g *GPSI) numbers(field string) (int64, error) {
	if !decimal(g.Prefix) {
		return 0, invalid(field+".prefix", "must consist of digits")
	}
	return below(field, len(g.Prefix), g.Digits)
}

// below returns how many numbers fit after a prefix.
func below(field string, prefix, digits int) (int64, error) {
	if least := max(minIdentity, prefix+1); digits < least || digits > maxIdentity {
		return 0, invalid(field+".digits", "must be from %d to %d", least, maxIdentity)
	}
	n := int64(1)
	for range digits - prefix {
		n *= 10
	}
	return n, nil
}

// TACs and serial numbers of an IMEI have 8 and 6 digits.
const tacs, serials = 100_000_000, 1_000_000

func (p *PEI) numbers(field string) (int64, error) {
	tac, err := strconv.ParseInt(p.TAC, 10, 64)
	switch {
	case err != nil || len(p.TAC) != 8 || !decimal(p.TAC):
		return 0, invalid(field+".tac", "must have 8 digits")
	case p.SoftwareVersion != "" && (len(p.SoftwareVersion) != 2 || !decimal(p.SoftwareVersion)):
		return 0, invalid(field+".softwareVersion", "must have 2 digits")
	}
	return (tacs - tac) * serials, nil
}

func (p *IPv4Pool) numbers(field string) (int64, error) {
	pool, err := parsePool(field, p.Pool, netip.Addr.Is4, "10.0.0.0/8")
	return 1 << (32 - pool.Bits()), err
}

func (p *IPv6Pool) numbers(field string) (int64, error) {
	pool, err := parsePool(field, p.Pool, netip.Addr.Is6, "2001:db8::/32")
	switch {
	case err != nil:
		return 0, err
	case p.Length < pool.Bits() || p.Length > 128:
		return 0, invalid(field+".length", "must be from %d, the length of pool, to 128", pool.Bits())
	}
	return 1 << min(40, p.Length-pool.Bits()), nil // more than MaxSubscribers twice
}

// parsePool returns the prefix 0.0.0.0/0 and an error if the pool is wrong.
func parsePool(field, pool string, family func(netip.Addr) bool, example string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(pool)
	switch {
	case err != nil || !family(p.Addr()) || p.Addr().Is4In6():
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), invalid(field+".pool", "must be a prefix, such as %s", example)
	case p != p.Masked():
		return p, invalid(field+".pool", "has bits after the prefix; write %s", p.Masked())
	}
	return p, nil
}

func decimal(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Key decodes a key of 128 bits. Its error does not contain the text, which can be secret.
func Key(text []byte) (key [16]byte, err error) {
	if len(text) == 2*len(key) {
		_, err = hex.Decode(key[:], text)
	}
	if err != nil || len(text) != 2*len(key) {
		return key, errKey
	}
	return key, nil
}

var errKey = errors.New("must have 32 hexadecimal digits")
