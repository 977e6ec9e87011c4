//go:build !race

package jsontext

import "testing"

func TestFindAllocatesNothing(t *testing.T) {
	doc := []byte(`{"a":[{"b":{"c":[1,2,{}]}},"plain","esc\u00e4pe \ud83d\ude00"],"\u00e4":1}`)
	dst := make([]byte, 0, 64)
	for pointer, want := range map[string]string{
		"": string(doc), "/a/1": "plain", "/a/-1": "escäpe 😀", "/a/0/b/c/-3": "1", "/ä": "1", "/a/0": `{"b":{"c":[1,2,{}]}}`,
	} {
		p, err := ParsePointer(pointer)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		if n := testing.AllocsPerRun(100, func() { got, _ = p.Find(dst, doc) }); n != 0 {
			t.Errorf("%q: %v allocations", pointer, n)
		}
		if string(got) != want {
			t.Errorf("%q: %q, want %q", pointer, got, want)
		}
	}
}

func TestMembersAllocateNothing(t *testing.T) {
	names := []string{"ascReqData", "evSubsc"}
	if n := testing.AllocsPerRun(100, func() {
		var values [2][]byte
		if !Members(values[:], session, names) || len(values[1]) == 0 {
			t.Fatal("no members")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPathAllocatesNothing(t *testing.T) {
	for path, want := range map[string]string{
		"$.nfInstances[?@.nfType=='UDM'].nfServices[0].serviceName": "nudm-sdm", "$..port": "8000",
		"$.nfInstances[-1].nfType": "BSF", "$.nfInstances[?length(@.nfType)==4 && @.load<8].nfType": "AUSF",
		"$.nfInstances[?match(@.nfType, 'B.*')].nfType": "BSF",
	} {
		p, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		if n := testing.AllocsPerRun(100, func() { got, _ = p.Find(nil, instances) }); n != 0 {
			t.Errorf("%q: %v allocations", path, n)
		}
		if string(got) != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
