package chain

import (
	"math/rand/v2"
	"testing"

	"github.com/h2surge/h2surge/internal/octet"
)

// TestVisible: eight at a time is the same as one by one, for each octet in each place.
func TestVisible(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for c := range 256 {
		for n := 1; n < 20; n++ {
			b := make([]byte, n)
			for i := range b {
				b[i] = []byte{0x21, 0x7e, 'a', 0x80, 0x7f, 0x20}[r.IntN(3+3*(c%2))]
			}
			b[r.IntN(n)] = byte(c)
			want := true
			for _, o := range b {
				want = want && octet.IsVisible(o)
			}
			if got := visible(b); got != want {
				t.Fatalf("visible(%q) is %v", b, got)
			}
		}
	}
}
