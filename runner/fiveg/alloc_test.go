//go:build !race

package fiveg

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestSUCIsAllocateNothing(t *testing.T) {
	in := testNetwork(1e6)
	in.SUCI = &rv.SUCI{PublicKey: profiles[0].homePublic}
	s, n := subscribers(t, in), int64(0)
	buf := s.Append(nil, n, 1)
	if got := testing.AllocsPerRun(100, func() { n++; buf = s.Append(buf[:0], n, 1) }); got != 0 {
		t.Errorf("%v allocations for %s, want 0", got, buf)
	}
}

func TestNoAllocation(t *testing.T) {
	var u USIM
	var buf []byte
	s, network := sets[0], []byte("5G:mnc001.mcc001.3gppnetwork.org")
	k, rand, opc := []byte(s.k), []byte(s.rand), []byte(s.opc)
	got := testing.AllocsPerRun(100, func() {
		rand[0], k[0] = '0'+(rand[0]+1)%10, '0'+(k[0]+1)%10
		buf = u.AppendRESStar(buf[:0], rand, k, opc, network)
		buf = AppendHXRESStar(buf[:0], buf, rand)
	})
	if got != 0 || len(buf) != 2*KeySize {
		t.Errorf("%v allocations for %s, want 0", got, buf)
	}
}
