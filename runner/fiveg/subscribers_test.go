package fiveg

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// testNetwork are subscribers with the defaults of a LoadTest.
func testNetwork(count int64) *rv.Subscribers {
	return &rv.Subscribers{
		Count: count, SUPI: rv.SUPI{MCC: "001", MNC: "01", Digits: 15}, GPSI: &rv.GPSI{Prefix: "999", Digits: 13},
		PEI: &rv.PEI{TAC: "00100000"}, IPv4: &rv.IPv4Pool{Pool: "10.0.0.0/8"}, IPv6Prefix: &rv.IPv6Pool{Pool: "2001:db8::/32", Length: 64},
	}
}

// K, OP and OPc of test set 1 of TS 35.207.
var testK, testOP, testOPc = sets[0].k, sets[0].op, sets[0].opc

func text(s string) *rv.Content { return &rv.Content{Text: s} }

func subscribers(t *testing.T, in *rv.Subscribers) *Subscribers {
	t.Helper()
	s, err := NewSubscribers(in, func(c *rv.Content) ([]byte, error) { return []byte(c.Text), nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSubscribers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*rv.Subscribers)
		row    int64
		want   map[rv.Column]string
	}{
		{"the first", func(*rv.Subscribers) {}, 0, map[rv.Column]string{
			"supi": "imsi-001010000000000", "suci": "suci-0-001-01-0-0-0-0000000000", "gpsi": "msisdn-9990000000000", "pei": "imei-001000000000009",
			"ipv4": "10.0.0.0", "ipv6Prefix": "2001:db8::/64", "servingNetwork": "5G:mnc001.mcc001.3gppnetwork.org",
		}},
		{"the last of ten million", func(*rv.Subscribers) {}, 9_999_999, map[rv.Column]string{
			"supi": "imsi-001010009999999", "suci": "suci-0-001-01-0-0-0-0009999999", "gpsi": "msisdn-9990009999999", "pei": "imei-001000099999996",
			"ipv4": "10.152.150.127", "ipv6Prefix": "2001:db8:98:967f::/64",
		}},
		{"a start", func(s *rv.Subscribers) { s.Start = 1e6 }, 1, map[rv.Column]string{
			"supi": "imsi-001010001000001", "gpsi": "msisdn-9990001000001", "pei": "imei-001000010000015", "ipv4": "10.15.66.65",
		}},
		{"other codes", func(s *rv.Subscribers) {
			s.SUPI, s.GPSI = rv.SUPI{MCC: "262", MNC: "123", Digits: 8}, &rv.GPSI{Prefix: "4", Digits: 5}
		}, 42, map[rv.Column]string{
			"supi": "imsi-26212342", "suci": "suci-0-262-123-0-0-0-42", "gpsi": "msisdn-40042", "servingNetwork": "5G:mnc123.mcc262.3gppnetwork.org",
		}},
		{"a known IMEI", func(s *rv.Subscribers) { s.PEI.TAC = "49015420" }, 323751, map[rv.Column]string{"pei": "imei-490154203237518"}},
		{"an IMEISV", func(s *rv.Subscribers) { s.PEI = &rv.PEI{TAC: "35000000", SoftwareVersion: "07"} }, 12_345_678, map[rv.Column]string{"pei": "imeisv-3500001234567807"}},
		{"whole addresses", func(s *rv.Subscribers) { s.IPv6Prefix = &rv.IPv6Pool{Pool: "2001:db8:0:0:ffff::/80", Length: 128} }, 0x1_0000_0002, map[rv.Column]string{"ipv6Prefix": "2001:db8::ffff:1:0:2/128"}},
		{"long prefixes", func(s *rv.Subscribers) { s.IPv6Prefix = &rv.IPv6Pool{Pool: "2001:db8::/32", Length: 72} }, 0x102, map[rv.Column]string{"ipv6Prefix": "2001:db8:0:1:200::/72"}},
		{"one address", func(s *rv.Subscribers) { s.IPv4 = &rv.IPv4Pool{Pool: "192.0.2.7/32"} }, 0, map[rv.Column]string{"ipv4": "192.0.2.7"}},
		{"one key", func(s *rv.Subscribers) { s.AKA = &rv.AKA{K: *text(testK), OPc: text(testOPc)} }, 5, map[rv.Column]string{"k": testK, "opc": testOPc}},
		{"OP", func(s *rv.Subscribers) { s.AKA = &rv.AKA{K: *text(strings.ToUpper(testK)), OP: text(testOP)} }, 5, map[rv.Column]string{"k": testK, "opc": testOPc}},
	} {
		s := testNetwork(1)
		tt.change(s)
		v := subscribers(t, s)
		got := map[rv.Column]string{}
		for column := range tt.want {
			got[column] = columnText(v, column, tt.row)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestDerivedKeys: K is what the standard library computes, and OPc belongs to K.
func TestDerivedKeys(t *testing.T) {
	s := testNetwork(100)
	s.AKA = &rv.AKA{K: *text(testK), Derived: true, OPc: text(testOPc)}
	v := subscribers(t, s)
	secret, _ := hex.DecodeString(testK)
	for row := range int64(100) {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "imsi-00101%010d", row)
		want := hex.EncodeToString(mac.Sum(nil)[:16])
		if got := columnText(v, "k", row); got != want {
			t.Errorf("subscriber %d has K %s, want %s", row, got, want)
		}
		if got := columnText(v, "opc", row); got != testOPc {
			t.Errorf("subscriber %d has OPc %s, want %s", row, got, testOPc)
		}
	}
	// 35.207: OPc of test set 1 belongs to its K. A derived K has another one.
	s.AKA.OPc, s.AKA.OP = nil, text(testOP)
	v = subscribers(t, s)
	if a, b := columnText(v, "opc", 0), columnText(v, "opc", 1); a == b || a == testOPc {
		t.Errorf("derived keys have the OPc %s and %s", a, b)
	}
}

func columnText(s *Subscribers, column rv.Column, row int64) string {
	return string(s.Append(nil, row, slices.Index(s.Columns(), string(column))))
}
