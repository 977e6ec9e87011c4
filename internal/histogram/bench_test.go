package histogram

import (
	"math/rand/v2"
	"testing"
)

func benchValues() []int64 {
	r := rand.New(rand.NewPCG(7, 8))
	values := make([]int64, 4096)
	for i := range values {
		values[i] = logNormal(r)
	}
	return values
}

func BenchmarkRecord(b *testing.B) {
	values, h := benchValues(), New()
	b.ReportAllocs()
	for i := range b.N {
		h.Record(values[i&4095])
	}
}

// BenchmarkOracleRecord is hdrhistogram-go with the exact sum and bounds that H keeps.
func BenchmarkOracleRecord(b *testing.B) {
	values, o := benchValues(), oracle()
	for i := range b.N {
		_ = o.RecordValue(values[i&4095])
	}
}

func BenchmarkTimes(b *testing.B) {
	h := record(benchValues()...)
	for b.Loop() {
		h.Times()
	}
}

func BenchmarkEncode(b *testing.B) {
	h := record(benchValues()...)
	b.ReportAllocs()
	for b.Loop() {
		h.Encode()
	}
}

func BenchmarkDecode(b *testing.B) {
	in := record(benchValues()...).Encode()
	b.ReportMetric(float64(len(in.Counts)), "encoded-B")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
