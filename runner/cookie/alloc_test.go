//go:build !race

package cookie

import "testing"

func TestSteadyStateAllocatesNothing(t *testing.T) {
	host, path := []byte("pcf.core.svc:8080"), []byte("/npcf-policyauthorization/v1/app-sessions?x=y")
	fields := [][]byte{
		[]byte("SID=31d4d96e407aad42; Path=/; HttpOnly"),
		[]byte("lang=en-US; Domain=Core.svc; Expires=Wed, 09 Jun 2521 10:18:14 GMT"),
		[]byte("__Host-x=y; Secure; Path=/"),
		[]byte("big=012345678901234567890123456789; Max-Age=60"),
		[]byte("SID=; Path=/; Max-Age=0"),
		[]byte("ignored"),
	}
	var j Jar
	dst := make([]byte, 0, 256)
	instance := func() {
		j.Clear()
		for _, f := range fields {
			j.Set(1, true, host, path, f)
			dst = j.AppendHeader(dst[:0], 1, true, host, path)
		}
	}
	instance()
	if n := testing.AllocsPerRun(100, instance); n != 0 {
		t.Errorf("%v allocations in a chain instance", n)
	}
	if want := "lang=en-US; big=012345678901234567890123456789; __Host-x=y"; string(dst) != want {
		t.Errorf("%q, want %q", dst, want)
	}
}
