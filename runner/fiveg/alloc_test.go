//go:build !race

package fiveg_test

import (
	"testing"

	"github.com/h2surge/h2surge/runner/fiveg"
)

func TestNoAllocation(t *testing.T) {
	u, network := &fiveg.USIM{}, []byte("5G:mnc001.mcc001.3gppnetwork.org")
	k, rand := [fiveg.KeySize]byte{1}, [fiveg.KeySize]byte{3}
	var sink byte
	got := testing.AllocsPerRun(100, func() {
		rand[0]++
		k[0]++
		u.SetKeys(k, fiveg.OPc(k, [fiveg.KeySize]byte{2}))
		res := u.RESStar(rand, network)
		hxres, resync := fiveg.HXRESStar(rand, res), u.F5Star(rand)
		mac, _ := u.F1(rand, [6]byte{4}, [2]byte{5})
		sink ^= hxres[0] ^ resync[0] ^ mac[0]
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
