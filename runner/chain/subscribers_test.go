package chain

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

// K and OPc of test set 1 of TS 35.207.
const testK, testOP, testOPc = "465b5ce8b199b49faa5f0a2ee238a6bc", "cdc202d5123e20f62b6d676ac72cb318", "cd63cb71954a9f4e48a5994e37a02baf"

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
		{"one key", func(s *rv.Subscribers) { s.AKA = &rv.AKA{K: *text1(testK), OPc: text1(testOPc)} }, 5, map[rv.Column]string{"k": testK, "opc": testOPc}},
		{"OP", func(s *rv.Subscribers) { s.AKA = &rv.AKA{K: *text1(strings.ToUpper(testK)), OP: text1(testOP)} }, 5, map[rv.Column]string{"k": testK, "opc": testOPc}},
	} {
		s := testNetwork(1)
		tt.change(s)
		v := compiled(t, rv.Variable{Subscribers: s})
		got := map[rv.Column]string{}
		for column := range tt.want {
			i, err := v.column(string(column))
			if err != nil {
				t.Fatal(err)
			}
			got[column] = string(v.values.append(nil, tt.row, i))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestDerivedKeys: K is what the standard library computes, and OPc belongs to K.
func TestDerivedKeys(t *testing.T) {
	s := testNetwork(100)
	s.AKA = &rv.AKA{K: *text1(testK), Derived: true, OPc: text1(testOPc)}
	v := compiled(t, rv.Variable{Subscribers: s})
	secret, _ := hex.DecodeString(testK)
	for row := range int64(100) {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "imsi-00101%010d", row)
		want := hex.EncodeToString(mac.Sum(nil)[:16])
		if got := columnText(t, v, "k", row); got != want {
			t.Errorf("subscriber %d has K %s, want %s", row, got, want)
		}
		if got := columnText(t, v, "opc", row); got != testOPc {
			t.Errorf("subscriber %d has OPc %s, want %s", row, got, testOPc)
		}
	}
	// 35.207: OPc of test set 1 belongs to its K. A derived K has another one.
	s.AKA.OPc, s.AKA.OP = nil, text1(testOP)
	v = compiled(t, rv.Variable{Subscribers: s})
	if a, b := columnText(t, v, "opc", 0), columnText(t, v, "opc", 1); a == b || a == testOPc {
		t.Errorf("derived keys have the OPc %s and %s", a, b)
	}
}

func columnText(t *testing.T, v *variable, column string, row int64) string {
	t.Helper()
	i, err := v.column(column)
	if err != nil {
		t.Fatal(err)
	}
	return string(v.values.append(nil, row, i))
}

// TestEachWorkerHasItsOwnSubscribers: until a worker has used all its subscribers, no subscriber occurs twice in the test.
func TestEachWorkerHasItsOwnSubscribers(t *testing.T) {
	const n = 1009
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("imsi-00101%010d imei", i))
	}
	for _, order := range []rv.Order{rv.OrderSequential, rv.OrderShuffled} {
		p := drawPlan(rv.Text{{Variable: 1, Column: "supi"}, {Literal: " imei"}}, rv.Variable{Name: "ue", Subscribers: testNetwork(n), Order: order, Stop: true})
		g := program(t, p)
		for _, shards := range []int{1, 3, 16} {
			var got []string
			for _, src := range workersOf(t, p, g, shards, 4) {
				got = append(got, untilEnded(t, g, src)...)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d shards (-want +got):\n%s", order, shards, diff)
			}
		}
	}
}

// TestColumnsAreOfOneSubscriber: all columns that an instance uses have the same number.
func TestColumnsAreOfOneSubscriber(t *testing.T) {
	body := rv.Text{{Variable: 1, Column: "supi"}, {Literal: " "}, {Variable: 1, Column: "gpsi"}}
	p := drawPlan(body, rv.Variable{Name: "ue", Subscribers: testNetwork(1e7), Order: rv.OrderShuffled})
	g := program(t, p)
	for _, got := range bodies(g, sources(g), 0, 100) {
		supi, gpsi, _ := strings.Cut(got, " ")
		if supi[len(supi)-10:] != gpsi[len(gpsi)-10:] {
			t.Errorf("one instance has %s and %s", supi, gpsi)
		}
	}
}

func TestWrongSubscribers(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*rv.Subscribers)
	}{
		{"subscribers.supi.mcc: must have 3 digits", func(s *rv.Subscribers) { s.SUPI.MCC = "0x1" }},
		{"subscribers.aka: exactly one of op and opc is needed", func(s *rv.Subscribers) { s.AKA = &rv.AKA{} }},
		{"subscribers.aka.k: must have 32 hexadecimal digits", func(s *rv.Subscribers) { s.AKA = &rv.AKA{K: *text1("secret"), OPc: text1(testOPc)} }},
		{"subscribers.aka.opc: must have 32 hexadecimal digits", func(s *rv.Subscribers) {
			s.AKA = &rv.AKA{K: *text1(testK), OPc: text1(strings.Repeat("g", 32))}
		}},
	} {
		s := testNetwork(10)
		tt.change(s)
		if _, err := newVariable(&rv.Variable{Subscribers: s}, 1, &Resources{}); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
