package chain

import (
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
