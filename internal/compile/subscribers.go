package compile

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// The pools of subscribers whose spec has none.
const (
	defaultIPv4Pool = "10.0.0.0/8"
	defaultIPv6Pool = "2001:db8::/32"
)

// noKeys is why subscribers have no keys.
const noKeys = "aka is not set"

// subscribers compiles subscribers, and returns their columns. If the subscribers are wrong, the table has no columns.
func (c *checker) subscribers(at *field.Path, in *v1alpha1.Subscribers) (*rv.Subscribers, *table) {
	out := &rv.Subscribers{Start: in.Start, Count: in.Count, SUPI: supi(in.SUPI), GPSI: gpsi(in.GPSI), PEI: pei(in.PEI)}
	if in.AKA != nil {
		out.AKA = c.aka(at.Child("aka"), in.AKA)
	}
	if in.SUCI != nil {
		out.SUCI = &rv.SUCI{RoutingIndicator: in.SUCI.RoutingIndicator, PublicKey: in.SUCI.PublicKey,
			KeyID: int(in.SUCI.KeyID)}
	}
	absent := addresses(in, out)
	if in.AKA == nil {
		absent[string(rv.ColumnK)], absent[string(rv.ColumnOPc)] = noKeys, noKeys
	}
	if c.structure.wrong(at.String()) {
		return out, &table{}
	}
	if err := out.Check(); err != nil {
		place, problem := at, err.Error()
		if e := (*rv.PlanError)(nil); errors.As(err, &e) && e.Field != "" {
			place, problem = at.Child(e.Field), e.Err.Error()
		}
		c.fail(place, "%s", problem)
		return out, &table{}
	}
	return out, &table{columns: columnNames(out), computed: true, absent: absent}
}

func columnNames(s *rv.Subscribers) (names []string) {
	for _, column := range s.Columns() {
		names = append(names, string(column))
	}
	return names
}

// orDefaults returns in, or an object with the defaults that the CRD has for a field of subscribers.
func orDefaults[T any](in *T, name string) *T {
	if in != nil {
		return in
	}
	out := new(T)
	schemaOf("variables.subscribers." + name).setDefaults(reflect.ValueOf(out))
	return out
}

func supi(in *v1alpha1.SUPI) rv.SUPI {
	in = orDefaults(in, "supi")
	return rv.SUPI{MCC: in.MCC, MNC: in.MNC, Digits: int(in.Digits)}
}

func gpsi(in *v1alpha1.GPSI) *rv.GPSI {
	in = orDefaults(in, "gpsi")
	return &rv.GPSI{Prefix: in.Prefix, Digits: int(in.Digits)}
}

func pei(in *v1alpha1.PEI) *rv.PEI {
	in = orDefaults(in, "pei")
	out := &rv.PEI{TAC: in.TAC}
	if in.Type == "IMEISV" {
		out.SoftwareVersion = in.SoftwareVersion
	}
	return out
}

// addresses fills in the pools of addresses. A default that is too small gives no column; absent says why.
func addresses(in *v1alpha1.Subscribers, out *rv.Subscribers) (absent map[string]string) {
	absent = map[string]string{}
	lacks := func(column rv.Column, pool string) {
		absent[string(column)] = fmt.Sprintf(
			"the default pool %s is too small for the subscriber with number %d; set %s.pool", pool, in.Start+in.Count-1, column)
	}
	out.IPv4 = &rv.IPv4Pool{Pool: defaultIPv4Pool}
	if in.IPv4 != nil {
		out.IPv4.Pool = in.IPv4.Pool
	} else if in.Start+in.Count > 1<<24 {
		out.IPv4 = nil
		lacks(rv.ColumnIPv4, defaultIPv4Pool)
	}
	six := orDefaults(in.IPv6Prefix, "ipv6Prefix")
	out.IPv6Prefix = &rv.IPv6Pool{Pool: six.Pool, Length: int(six.Length)}
	switch {
	case in.IPv6Prefix != nil:
	case in.Start+in.Count > 1<<32:
		out.IPv6Prefix = nil
		lacks(rv.ColumnIPv6Prefix, defaultIPv6Pool)
	default:
		out.IPv6Prefix.Pool = defaultIPv6Pool
	}
	return absent
}

func (c *checker) aka(at *field.Path, in *v1alpha1.AKA) *rv.AKA {
	out := &rv.AKA{K: *c.key(at.Child("k"), &in.K), Derived: in.Derivation == "HMACSHA256"}
	if in.OP != nil {
		out.OP = c.key(at.Child("op"), in.OP)
	}
	if in.OPc != nil {
		out.OPc = c.key(at.Child("opc"), in.OPc)
	}
	if in.SQN != nil {
		out.SQN = rv.SQN{IndBits: int(in.SQN.IndBits), Delta: in.SQN.Delta}
	}
	return out
}

func (c *checker) key(at *field.Path, in *v1alpha1.KeySource) *rv.Content {
	if in.ValueFrom == nil {
		return &rv.Content{Text: in.Value}
	}
	return &rv.Content{File: c.contentSource(at.Child("valueFrom"), in.ValueFrom), Trim: true}
}

// ofSubscribers returns a value of a column with each kind of character that its values have.
func ofSubscribers(column string) []known {
	value := "imsi-001010000000000"
	switch rv.Column(column) {
	case rv.ColumnServingNetwork:
		value = "5G:mnc001.mcc001.3gppnetwork.org"
	case rv.ColumnIPv4:
		value = "10.0.0.0"
	case rv.ColumnIPv6Prefix:
		value = "2001:db8::/64"
	case rv.ColumnSUPI, rv.ColumnSUCI, rv.ColumnGPSI, rv.ColumnPEI, rv.ColumnK, rv.ColumnOPc:
	}
	return []known{{value, fmt.Sprintf("column %q", column), -1}}
}
