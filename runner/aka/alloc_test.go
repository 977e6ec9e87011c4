//go:build !race

package aka_test

import (
	"testing"

	"github.com/h2surge/h2surge/runner/aka"
)

func TestNoAllocation(t *testing.T) {
	u, network := &aka.USIM{}, []byte("5G:mnc001.mcc001.3gppnetwork.org")
	k, rand := [aka.Size]byte{1}, [aka.Size]byte{3}
	var sink byte
	got := testing.AllocsPerRun(100, func() {
		rand[0]++
		k[0]++
		u.SetKeys(k, aka.OPc(k, [aka.Size]byte{2}))
		res := u.RESStar(rand, network)
		hxres, resync := aka.HXRESStar(rand, res), u.F5Star(rand)
		mac, _ := u.F1(rand, [6]byte{4}, [2]byte{5})
		sink ^= hxres[0] ^ resync[0] ^ mac[0]
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
