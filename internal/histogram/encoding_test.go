package histogram

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func oracle() *hdrhistogram.Histogram { return hdrhistogram.New(1, Highest, significantDigits) }

// encodeOracle returns the payload that the oracle writes, and decodeOracle what it reads from one. It writes and reads base64.
func encodeOracle(t testing.TB, o *hdrhistogram.Histogram) []byte {
	b, err := o.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decodeOracle(payload []byte) (*hdrhistogram.Histogram, error) {
	return hdrhistogram.Decode([]byte(base64.StdEncoding.EncodeToString(payload)))
}

// both records the same in a histogram and in the oracle.
func both(t testing.TB, values []int64) (*H, *hdrhistogram.Histogram) {
	h, o := New(), oracle()
	for _, v := range values {
		h.Record(v)
		if err := o.RecordValue(min(v, Highest)); err != nil {
			t.Fatal(err)
		}
	}
	return h, o
}

func samples() map[string][]int64 {
	r := rand.New(rand.NewPCG(5, 6))
	log := make([]int64, 20000)
	for i := range log {
		log[i] = logNormal(r)
	}
	uniform := make([]int64, 5000)
	for i := range uniform {
		uniform[i] = r.Int64N(Highest)
	}
	return map[string][]int64{
		"zero": {0}, "one": {1}, "gap of one": {0, 2}, "edges": edges(), "log-normal": log, "uniform": uniform,
		"in range": {0, 1, 2047, 2048, Highest},
	}
}

func TestOracleReadsWhatWeEncode(t *testing.T) {
	for name, values := range samples() {
		t.Run(name, func(t *testing.T) {
			h, o := both(t, values)
			got, err := decodeOracle(h.Encode().Counts)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equals(o) {
				t.Error("the oracle reads other counts than were recorded")
			}
		})
	}
}

func TestWeReadWhatTheOracleEncodes(t *testing.T) {
	for name, values := range samples() {
		t.Run(name, func(t *testing.T) {
			h, o := both(t, values)
			in := h.Encode()
			in.Counts = encodeOracle(t, o)
			got, err := Decode(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(h, got, cmp.AllowUnexported(H{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuantilesAgainstOracle(t *testing.T) {
	for name, values := range samples() {
		h, o := both(t, values)
		for _, q := range []float64{0.001, 0.1, 0.5, 0.9, 0.99, 0.999} {
			// The oracle rounds the rank to the nearest; asked for our rank it must agree.
			same := 100 * float64(rank(q, h.Count())) / float64(h.Count())
			want := min(o.ValueAtPercentile(same), h.Max())
			if got := h.Quantile(q); got != want && got <= Highest {
				t.Errorf("%s: quantile %v = %d, want %d", name, q, got, want)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for name, values := range samples() {
		t.Run(name, func(t *testing.T) {
			h := record(values...)
			got, err := Decode(h.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(h, got, cmp.AllowUnexported(H{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got, err := Decode(runnerv1alpha1.Histogram{})
	if err != nil || got.Count() != 0 {
		t.Errorf("empty: %v, %v", got, err)
	}
}

// TestEveryCounterInUse needs more than one block of the compressed form.
func TestEveryCounterInUse(t *testing.T) {
	h, o := New(), oracle()
	for i := range index(Highest) + 1 {
		low, _ := bounds(i)
		h.RecordN(low, 1<<27)
		if err := o.RecordValues(low, 1<<27); err != nil {
			t.Fatal(err)
		}
	}
	in := h.Encode()
	if len(in.Counts) <= maxStored {
		t.Fatalf("only %d bytes", len(in.Counts))
	}
	got, err := Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got, cmp.AllowUnexported(H{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	read, err := decodeOracle(in.Counts)
	if err != nil || !read.Equals(o) {
		t.Errorf("the oracle reads something else: %v", err)
	}
}

func TestVarint(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 20, 1 << 55, 1 << 62, math.MaxInt64, math.MinInt64} {
		b := appendVarint(nil, v)
		got, n := varint(append(b, 0xff))
		if got != v || n != len(b) || n > maxVarint {
			t.Errorf("%d: read back %d from %d of %d bytes", v, got, n, len(b))
		}
		if _, n := varint(b[:len(b)-1]); n != 0 {
			t.Errorf("%d cut off: read %d bytes", v, n)
		}
	}
}

// reencode makes a payload of the bytes of an inner header and counters.
func reencode(inner []byte) []byte { return compress(inner) }

func inner(counters ...int64) []byte {
	b := innerHeaderOf(nil)
	for _, c := range counters {
		b = appendVarint(b, c)
	}
	b[7] = byte(len(b) - innerHeader)
	return b
}

func TestDecodeRefuses(t *testing.T) {
	good := record(3, 5, 5000).Encode()
	change := func(f func(*runnerv1alpha1.Histogram)) runnerv1alpha1.Histogram {
		in := good
		f(&in)
		return in
	}
	other := encodeOracle(t, hdrhistogram.New(1, 1000, 2))
	counts := func(payload []byte) runnerv1alpha1.Histogram {
		return change(func(in *runnerv1alpha1.Histogram) { in.Counts = payload })
	}
	raw := good.Counts
	badSum := append([]byte(nil), raw...)
	badSum[len(badSum)-1] ^= 1
	tests := []struct {
		name string
		in   runnerv1alpha1.Histogram
		want string
	}{
		{"no counts", counts(nil), "the counters add up to 0"},
		{"short", counts(make([]byte, outerHeader-1)), "too few for a header"},
		{"too long", counts(make([]byte, maxEncoded+1)), "more than any"},
		{"cookie", counts(make([]byte, 20)), "cookie"},
		{"outer length", counts(raw[:len(raw)-1]), "bytes follow"},
		{"no zlib", counts([]byte{0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 1, 9}), "EOF"},
		{"checksum", counts(badSum), "checksum"},
		{"no inner header", counts(reencode(make([]byte, innerHeader-1))), "header and counters"},
		{"bomb", counts(reencode(make([]byte, innerHeader+maxPayload+1))), "header and counters"},
		{"inner cookie", counts(reencode(make([]byte, innerHeader))), "cookie"},
		{"inner length", counts(reencode(append(inner(), 1))), "bytes follow"},
		{"other range", counts(other), "another range"},
		{"cut counter", counts(reencode(append(inner(1)[:innerHeader], 0x80))), "EOF"},
		{"zero run too long", counts(reencode(inner(-pages*pageSize, 0))), "more counters"},
		{"zero run overflow", counts(reencode(inner(math.MinInt64))), "out of range"},
		{"counter behind the range", counts(reencode(inner(int64(-index(Highest)-1), 1))), "more counters"},
		{"counter too great", counts(reencode(inner(maxCount + 1))), "out of range"},
		{"count too great", counts(reencode(inner(maxCount, maxCount))), "more than possible"},
		{"count", change(func(in *runnerv1alpha1.Histogram) { in.Count++ }), "add up"},
		{"min below", change(func(in *runnerv1alpha1.Histogram) { in.Min = 2 }), "minimum"},
		{"min negative", change(func(in *runnerv1alpha1.Histogram) { in.Min = -1 }), "minimum"},
		{"max above", change(func(in *runnerv1alpha1.Histogram) { in.Max = 5004 }), "maximum"},
		{"max below min", runnerv1alpha1.Histogram{Count: 1, Min: 5001, Max: 5000, Sum: 5000, Counts: record(5000).Encode().Counts}, "minimum"},
		{"sum too small", change(func(in *runnerv1alpha1.Histogram) { in.Sum = 8 }), "sum"},
		{"sum too great", change(func(in *runnerv1alpha1.Histogram) { in.Sum = 15001 }), "sum"},
		{"sum negative", change(func(in *runnerv1alpha1.Histogram) { in.Sum = -1 }), "sum"},
		{"empty with sum", runnerv1alpha1.Histogram{Sum: 1, Counts: reencode(inner())}, "no values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := Decode(tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want an error with %q", h, err, tt.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, values := range [][]int64{{0}, {1, 2, 3}, {2047, 2048, 5000}, {Highest, 2 * Highest}} {
		in := record(values...).Encode()
		raw := in.Counts
		uncompressed, _ := inflateBounded(raw[outerHeader:])
		f.Add(in.Count, in.Min, in.Max, in.Sum, uncompressed, true)
		f.Add(in.Count, in.Min, in.Max, in.Sum, raw, false)
	}
	f.Fuzz(func(t *testing.T, count, low, high, sum int64, b []byte, wrap bool) {
		// Behind zlib's checksum the fuzzer sees nothing, so it may also write the inside.
		if wrap {
			b = compress(append(b, make([]byte, max(0, innerHeader-len(b)))...))
		}
		in := runnerv1alpha1.Histogram{Count: count, Min: low, Max: high, Sum: sum, Counts: b}
		h, err := Decode(in)
		if err != nil {
			return
		}
		again, err := Decode(h.Encode())
		if err != nil {
			t.Fatalf("decoded, but not what was encoded of it: %v", err)
		}
		if diff := cmp.Diff(h.Encode(), again.Encode()); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
		if q := h.Quantile(0.5); q < h.Min() || q > h.Max() {
			t.Fatalf("median %d is not in [%d, %d]", q, h.Min(), h.Max())
		}
	})
}

// TestJSONForm: operators and runners of earlier builds, and stored checkpoints, have this form.
func TestJSONForm(t *testing.T) {
	const want = `{"count":3,"min":3,"max":5000,"sum":5008,"counts":"HISTFAAAADp4AQEvAND/HISTEwAAAAcAAAAAAAAAAwAAAAAAAAABAAAAANaTpAA/8AAAAAAAAAUCAAK3MwJ0ZwWD"}`
	got, err := json.Marshal(record(3, 5, 5000).Encode())
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if got, err := json.Marshal(New().Encode()); err != nil || string(got) != `{"count":0,"min":0,"max":0,"sum":0}` {
		t.Errorf("an empty histogram: %s, %v", got, err)
	}
}
