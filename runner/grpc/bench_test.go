package grpc

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkCompress is a message of a request that is compressed for itself.
func BenchmarkCompress(b *testing.B) {
	for _, size := range []int{50, 1000, 16000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			text, g := []byte(strings.Repeat("a message ", size/10)), new(Gzip)
			dst := make([]byte, 0, 2*size)
			for b.Loop() {
				dst = g.compress(append(dst[:0], text...), 0)
			}
			b.ReportMetric(float64(len(dst)), "octets")
		})
	}
}
