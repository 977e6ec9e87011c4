package fiveg

import (
	"bytes"
	"testing"
)

func TestRoutingBinding(t *testing.T) {
	for _, tt := range []struct{ name, binding, want string }{
		{"empty", "", ""},
		{"one level", "bl=nf-set; nfset=set1.udmset.5gc.mnc012.mcc345", "bl=nf-set; nfset=set1.udmset.5gc.mnc012.mcc345"},
		{"other parameters are for the consumer", "bl=nf-instance;nfinst=54804518-4191-46b3-955c-ac631f953ed8; recoverytime=\"2026-03-01T10:00:00Z\"; nfset=a ;group=1;no-redundancy=true",
			"bl=nf-instance; nfinst=54804518-4191-46b3-955c-ac631f953ed8; nfset=a"},
		{"names in any case", "BL=nf-set; NfSet=a", "BL=nf-set; NfSet=a"},
		{"the first of a list", "bl=nf-set; nfset=a, bl=nf-set; nfset=b", "bl=nf-set; nfset=a"},
		{"an indication for callbacks comes first", "bl=nf-set; nfset=a; scope=callback, bl=nf-set; nfset=b; scope=other-service", "bl=nf-set; nfset=b"},
		{"only for callbacks", "bl=nf-set; nfset=a; scope=Callback", ""},
		{"separators in quotes", `bl=nfservice-set; servname="a,b;c"; nfserviceset=x`, `bl=nfservice-set; servname="a,b;c"; nfserviceset=x`},
		{"a quote in quotes", `bl=nf-set; servname="a\",b"; nfset=x`, `bl=nf-set; servname="a\",b"; nfset=x`},
		{"a quote without an end", `bl="nf-set; nfset=a, bl=x`, `bl="nf-set; nfset=a, bl=x`},
		{"no parameters", "nf-set, ;;, =", ""},
		{"an empty indication comes first", ", bl=nf-set", "bl=nf-set"},
	} {
		if got := string(AppendRoutingBinding([]byte("x"), []byte(tt.binding))); got != "x"+tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got[1:], tt.want)
		}
	}
}

// FuzzRoutingBinding: the result is a part of a field value for every value that a peer can send, and a fixed point.
func FuzzRoutingBinding(f *testing.F) {
	f.Add([]byte(`bl=nf-set; nfset=a; scope=callback, bl="x\";,"; servname=b`))
	f.Fuzz(func(t *testing.T, binding []byte) {
		got := AppendRoutingBinding(nil, binding)
		if len(got) > 2*len(binding) {
			t.Errorf("%q becomes %q", binding, got)
		}
		if again := AppendRoutingBinding(nil, got); !bytes.Equal(again, got) {
			t.Errorf("%q becomes %q, which becomes %q", binding, got, again)
		}
	})
}
