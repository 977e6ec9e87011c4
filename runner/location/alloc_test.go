//go:build !race

package location

import "testing"

func TestSteadyStateAllocatesNothing(t *testing.T) {
	scheme, authority, path := []byte("http"), []byte("pcf.core.svc"), []byte("/npcf-policyauthorization/v1/app-sessions?x=y")
	var references [][]byte
	for _, r := range []string{"http://PCF.core.svc:80/npcf-policyauthorization/v1/app-sessions/1", "app-sessions/é", "../../v2/?x", "", "/a", "ftp://x", "http://[::1]:80/", "/a b", "http://a:x/"} {
		references = append(references, []byte(r))
	}
	dst := make([]byte, 0, 128)
	same := 0
	turn := func() {
		for _, r := range references {
			_, got, err := AppendResolved(dst, scheme, authority, path, r)
			if err == nil && SameAuthority(scheme, authority, got.Scheme, got.Authority) {
				same++
			}
		}
	}
	if n := testing.AllocsPerRun(99, turn); n != 0 {
		t.Errorf("%v allocations for %d references", n, len(references))
	}
	if same != 500 {
		t.Errorf("%d with the same authority, want 5 in each of 100 turns", same)
	}
}
