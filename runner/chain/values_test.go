package chain

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func compiled(t *testing.T, v rv.Variable) *variable {
	t.Helper()
	out, err := newVariable(&v, 1, &Resources{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSequenceValues(t *testing.T) {
	for _, tt := range []struct {
		v    rv.Variable
		i    int64
		want string
	}{
		{rv.Variable{Range: &rv.Range{Start: 0, End: 10, Step: 1}}, 0, "0"},
		{rv.Variable{Range: &rv.Range{Start: 0, End: 10, Step: 1, Width: 3}}, 0, "000"},
		{rv.Variable{Range: &rv.Range{Start: 7, End: 100, Step: 10, Width: 3}}, 2, "027"},
		{rv.Variable{Range: &rv.Range{Start: 99, End: 1e18, Step: 1, Width: 2}}, 1, "100"},
		{rv.Variable{Range: &rv.Range{Start: 1e18 - 1, End: 1e18, Step: 1, Width: 19}}, 0, "0999999999999999999"},
		{rv.Variable{Range: &rv.Range{Start: 0, End: 300, Step: 1, Hex: true}}, 0, "0"},
		{rv.Variable{Range: &rv.Range{Start: 0, End: 300, Step: 1, Hex: true}}, 255, "ff"},
		{rv.Variable{Range: &rv.Range{Start: 0, End: 300, Step: 1, Hex: true, Width: 4}}, 256, "0100"},
		{rv.Variable{List: []string{"a", ""}}, 1, ""},
		{rv.Variable{Counter: &rv.Counter{Start: 5, Step: 5, Width: 3}}, 2, "015"},
	} {
		if got := string(compiled(t, tt.v).values.Append(nil, tt.i, 0)); got != tt.want {
			t.Errorf("%+v [%d] = %q, want %q", tt.v, tt.i, got, tt.want)
		}
	}
}

// TestRandomValuesAreUniform: the chi-squared statistic of each source is below the quantile 0.9999.
func TestRandomValuesAreUniform(t *testing.T) {
	weighted := []rv.Choice{{Value: "a", Weight: 1}, {Value: "b", Weight: 2}, {Value: "c", Weight: 7}}
	for name, tt := range map[string]struct {
		random rv.Random
		want   map[string]float64
		limit  float64
	}{
		"integer": {rv.Random{Integer: &rv.RandomInteger{Min: 5, Max: 7, Width: 2}}, map[string]float64{"05": 1. / 3, "06": 1. / 3, "07": 1. / 3}, 18.4},
		"hex":     {rv.Random{Hex: 1}, each("0123456789abcdef"), 44.3},
		"string":  {rv.Random{String: &rv.RandomString{Length: 1, Alphabet: "xyz"}}, each("xyz"), 18.4},
		"choice":  {rv.Random{Choice: weighted}, map[string]float64{"a": .1, "b": .2, "c": .7}, 18.4},
	} {
		v := compiled(t, rv.Variable{Random: &tt.random})
		r := rand.New(rand.NewPCG(1, 2))
		const n = 30_000
		got := map[string]int{}
		for range n {
			got[string(v.values.Append(nil, v.random.draw(r), 0))]++
		}
		chi := 0.
		for value, p := range tt.want {
			chi += math.Pow(float64(got[value])-n*p, 2) / (n * p)
		}
		if len(got) != len(tt.want) || chi > tt.limit {
			t.Errorf("%s: %v, chi-squared %.1f", name, got, chi)
		}
	}
}

func each(alphabet string) map[string]float64 {
	out := map[string]float64{}
	for _, c := range alphabet {
		out[string(c)] = 1 / float64(len(alphabet))
	}
	return out
}

func TestRandomIntegerHasItsEnds(t *testing.T) {
	v := compiled(t, rv.Variable{Random: &rv.Random{Integer: &rv.RandomInteger{Max: math.MaxInt64}}})
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if x := v.random.draw(r); x < 0 {
			t.Fatalf("%d is out of range", x)
		}
	}
}

func TestRandomStringsHaveTheirLength(t *testing.T) {
	for _, n := range []int{1, 2, 7, 1024} {
		v := compiled(t, rv.Variable{Random: &rv.Random{String: &rv.RandomString{Length: n, Alphabet: strings.Repeat("ab", 64)}}})
		a, b := v.values.Append(nil, 42, 0), v.values.Append(nil, 42, 0)
		if len(a) != n || string(a) != string(b) {
			t.Errorf("%d: %q, then %q", n, a, b)
		}
	}
}

func TestUUIDsAreVersion4(t *testing.T) {
	v := compiled(t, rv.Variable{UUID: true})
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for i := range int64(10_000) {
		id := string(v.values.Append(nil, i, 0))
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%d: %s, seen %v", i, id, seen[id])
		}
		seen[id] = true
		if a := keyOf(t, id); a != mix(uint64(i)^v.seed) {
			t.Fatalf("%d: %s has lost bits of what makes it the only one: %x", i, id, a)
		}
	}
}

// keyOf is the bijection of the number that a UUID was made of: all but 64 bits left out.
func keyOf(t *testing.T, id string) uint64 {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	high, low := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	return high>>16<<16 | high&0xfff<<4 | low>>58&15
}

func TestTimestamps(t *testing.T) {
	at := time.Date(2026, 11, 3, 4, 5, 6, 789_999_999, time.UTC)
	before := time.Date(1969, 12, 31, 23, 59, 58, 500_000_000, time.UTC)
	for _, tt := range []struct {
		at     time.Time
		format rv.TimeFormat
		offset time.Duration
		want   string
	}{
		{at, rv.TimeRFC3339, 0, at.Truncate(time.Second).Format(time.RFC3339)},
		{at, rv.TimeRFC3339, -time.Hour, "2026-11-03T03:05:06Z"},
		{at, rv.TimeRFC3339Milli, 0, "2026-11-03T04:05:06.789Z"},
		{at, rv.TimeEpochSeconds, 0, "1793678706"},
		{at, rv.TimeEpochMilliseconds, time.Second, "1793678707789"},
		{at, rv.TimeIMFFixdate, 0, at.Format(http.TimeFormat)},
		{at, rv.TimeIMFFixdateMilli, 0, at.Format("Mon, 02 Jan 2006 15:04:05.000 GMT")},
		{before, rv.TimeEpochSeconds, 0, "-2"},
		{before, rv.TimeEpochMilliseconds, 0, "-1500"},
	} {
		v := compiled(t, rv.Variable{Timestamp: &rv.Timestamp{Format: tt.format, Offset: tt.offset}})
		if got := string(v.values.Append(nil, tt.at.UnixNano(), 0)); got != tt.want {
			t.Errorf("%s%+v: %s, want %s", tt.format, tt.offset, got, tt.want)
		}
	}
}

func TestTimestampIsThatOfTheDraw(t *testing.T) {
	stamp := func(s rv.Scope) rv.Variable {
		return rv.Variable{Name: "t", Scope: s, Timestamp: &rv.Timestamp{Format: rv.TimeEpochSeconds}}
	}
	g := program(t, drawPlan(rv.Text{{Variable: 1}, {Literal: " "}, {Variable: 2}, {Literal: " "}, {Variable: 3}}, stamp(""), stamp(rv.ScopeStep), stamp(rv.ScopeWorker)))
	src := sources(g)
	var in Instance
	for i, want := range []string{"10 11 10", "20 21 10"} {
		begin := int64(i+1) * 10 * int64(time.Second)
		in.Start(g, 0, src, begin)
		in.BeginStep(&g.Steps[0], begin+int64(time.Second))
		if got := string(g.Steps[0].AppendBody(nil, &in)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
