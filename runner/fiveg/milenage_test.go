package fiveg

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// set is a test set of TS 35.207, in hexadecimal digits.
type set struct{ k, rand, sqn, amf, op, opc, f1, f1star, f2, f3, f4, f5, f5star string }

// sets are test sets 1 to 6 of TS 35.207.
var sets = []set{
	{
		k: "465b5ce8b199b49faa5f0a2ee238a6bc", rand: "23553cbe9637a89d218ae64dae47bf35",
		op: "cdc202d5123e20f62b6d676ac72cb318", opc: "cd63cb71954a9f4e48a5994e37a02baf",
		sqn: "ff9bb4d0b607", amf: "b9b9", f1: "4a9ffac354dfafb3", f1star: "01cfaf9ec4e871e9", f5: "aa689c648370", f5star: "451e8beca43b",
		f2: "a54211d5e3ba50bf", f3: "b40ba9a3c58b2a05bbf0d987b21bf8cb",
		f4: "f769bcd751044604127672711c6d3441",
	},
	{
		k: "0396eb317b6d1c36f19c1c84cd6ffd16", rand: "c00d603103dcee52c4478119494202e8",
		op: "ff53bade17df5d4e793073ce9d7579fa", opc: "53c15671c60a4b731c55b4a441c0bde2",
		sqn: "fd8eef40df7d", amf: "af17", f1: "5df5b31807e258b0", f1star: "a8c016e51ef4a343", f5: "c47783995f72", f5star: "30f1197061c1",
		f2: "d3a628ed988620f0", f3: "58c433ff7a7082acd424220f2b67c556",
		f4: "21a8c1f929702adb3e738488b9f5c5da",
	},
	{
		k: "fec86ba6eb707ed08905757b1bb44b8f", rand: "9f7c8d021accf4db213ccff0c7f71a6a",
		op: "dbc59adcb6f9a0ef735477b7fadf8374", opc: "1006020f0a478bf6b699f15c062e42b3",
		sqn: "9d0277595ffc", amf: "725c", f1: "9cabc3e99baf7281", f1star: "95814ba2b3044324", f5: "33484dc2136b", f5star: "deacdd848cc6",
		f2: "8011c48c0c214ed2", f3: "5dbdbb2954e8f3cde665b046179a5098",
		f4: "59a92d3b476a0443487055cf88b2307b",
	},
	{
		k: "9e5944aea94b81165c82fbf9f32db751", rand: "ce83dbc54ac0274a157c17f80d017bd6",
		op: "223014c5806694c007ca1eeef57f004f", opc: "a64a507ae1a2a98bb88eb4210135dc87",
		sqn: "0b604a81eca8", amf: "9e09", f1: "74a58220cba84c49", f1star: "ac2cc74a96871837", f5: "f0b9c08ad02e", f5star: "6085a86c6f63",
		f2: "f365cd683cd92e96", f3: "e203edb3971574f5a94b0d61b816345d",
		f4: "0c4524adeac041c4dd830d20854fc46b",
	},
	{
		k: "4ab1deb05ca6ceb051fc98e77d026a84", rand: "74b0cd6031a1c8339b2b6ce2b8c4a186",
		op: "2d16c5cd1fdf6b22383584e3bef2a8d8", opc: "dcf07cbd51855290b92a07a9891e523e",
		sqn: "e880a1b580b6", amf: "9f07", f1: "49e785dd12626ef2", f1star: "9e85790336bb3fa2", f5: "31e11a609118", f5star: "fe2555e54aa9",
		f2: "5860fc1bce351e7e", f3: "7657766b373d1c2138f307e3de9242f9",
		f4: "1c42e960d89b8fa99f2744e0708ccb53",
	},
	{
		k: "6c38a116ac280c454f59332ee35c8c4f", rand: "ee6466bc96202c5a557abbeff8babf63",
		op: "1ba00a1a7c6700ac8c3ff3e96ad08725", opc: "3803ef5363b947c6aaa225e58fae3934",
		sqn: "414b98222181", amf: "4464", f1: "078adfb488241a57", f1star: "80246b8d0186bcf1", f5: "45b0f69ab06c", f5star: "1f53cd2b1113",
		f2: "16c8233f05a0ac28", f3: "3f8c7587fe8e4b233af676aede30ba3b",
		f4: "a7466cc1e6b2a1337d49d3b66e95d7b4",
	},
}

func octets(t *testing.T, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func block(t *testing.T, digits string) [KeySize]byte {
	t.Helper()
	return [KeySize]byte(octets(t, digits))
}

func TestMilenage(t *testing.T) {
	for _, want := range sets {
		t.Run(want.k, func(t *testing.T) {
			opc := OPc(block(t, want.k), block(t, want.op))
			u, rand := new(USIM), block(t, want.rand)
			u.setKeys(block(t, want.k), opc, nil)
			a := u.answer(rand)
			f1, f1star := u.macs([sqnSize]byte(octets(t, want.sqn)), [2]byte(octets(t, want.amf)))
			f5star := u.resyncKey()
			got := set{
				k: want.k, rand: want.rand, sqn: want.sqn, amf: want.amf, op: want.op, opc: hex.EncodeToString(opc[:]),
				f1: hex.EncodeToString(f1[:]), f1star: hex.EncodeToString(f1star[:]), f2: hex.EncodeToString(a.res[:]),
				f3: hex.EncodeToString(a.ck[:]), f4: hex.EncodeToString(a.ik[:]), f5: hex.EncodeToString(a.ak[:]),
				f5star: hex.EncodeToString(f5star[:]),
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(set{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestStar uses test set 1. The specifications have no test data for RES* and HXRES*: the values were computed with the
// hmac and hashlib modules of Python.
func TestStar(t *testing.T) {
	s, u := sets[0], new(USIM)
	for _, tc := range []struct{ network, resStar, hxresStar string }{
		{"5G:mnc001.mcc001.3gppnetwork.org", "f236a7417272bfb2d66d4d670733b527", "20a71900b01776bfd773e8c15a825446"},
		{"5G:mnc001.mcc001.3gppnetwork.org:10000000001", "97d88976a085b5863fe2f3ba87d1aad3", "d264b8716cff2fd27d46868763701ddd"},
	} {
		res := u.AppendRESStar(nil, []byte(s.rand), []byte(s.k), []byte(s.opc), []byte(tc.network))
		if string(res) != tc.resStar {
			t.Errorf("%s: RES* is %s, want %s", tc.network, res, tc.resStar)
		}
		if hxres := AppendHXRESStar(nil, res, []byte(s.rand)); string(hxres) != tc.hxresStar {
			t.Errorf("%s: HXRES* is %s, want %s", tc.network, hxres, tc.hxresStar)
		}
	}
}
