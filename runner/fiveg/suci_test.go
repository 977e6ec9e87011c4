package fiveg

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// profile is the test data of TS 33.501 C.4 for a profile.
type profile struct {
	curve                                  ecdh.Curve
	homePrivate, homePublic, private, want string
	scheme                                 int
}

// profiles have the MSIN 001002086.
var profiles = []profile{
	{
		ecdh.X25519(), "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d",
		"5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650",
		"c80949f13ebe61af4ebdbd293ea4f942696b9e815d7e8f0096bbf6ed7de62256",
		"b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87", 1,
	},
	{
		ecdh.P256(), "f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda",
		"0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1",
		"99798858a1dc6a2c68637149a4b1dbfd1fdff5addd62a2142f06699ed7602529",
		"039aab8376597021e855679a9778ea0b67396e68c66df32c0f41e9acca2da9b9d146a33fc2716ac7dae96aa30a4d", 2,
	},
}

func TestSchemeOutput(t *testing.T) {
	for _, p := range profiles {
		s := rv.SUCI{PublicKey: p.homePublic}
		home, err := s.Key()
		if err != nil || s.Scheme() != p.scheme {
			t.Fatalf("scheme %d, want %d: %v", s.Scheme(), p.scheme, err)
		}
		private, err := p.curve.NewPrivateKey(octets(t, p.private))
		if err != nil {
			t.Fatal(err)
		}
		e, err := newEphemeral(home, private)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.appendOutput(nil, 1002086, 9)); got != p.want {
			t.Errorf("scheme %d: output %s, want %s", p.scheme, got, p.want)
		}
	}
}

// reveal returns the MSIN of a scheme output, as the home network does (TS 33.501 C.3.3).
func reveal(t *testing.T, p *profile, output []byte) string {
	t.Helper()
	size := len(octets(t, p.homePublic))
	public, sealed, tag := output[:size], output[size:len(output)-8], output[len(output)-8:]
	encoded := public
	if p.scheme == 2 {
		x, y := elliptic.UnmarshalCompressed(elliptic.P256(), public)
		encoded = append([]byte{4}, append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...)...)
	}
	key, err1 := p.curve.NewPrivateKey(octets(t, p.homePrivate))
	peer, err2 := p.curve.NewPublicKey(encoded)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	shared, err := key.ECDH(peer)
	if err != nil {
		t.Fatal(err)
	}
	var keys []byte
	for i := uint32(1); i <= 2; i++ {
		h := sha256.New()
		h.Write(shared)
		h.Write(binary.BigEndian.AppendUint32(nil, i))
		h.Write(public)
		keys = h.Sum(keys)
	}
	mac := hmac.New(sha256.New, keys[32:])
	mac.Write(sealed)
	if !hmac.Equal(mac.Sum(nil)[:8], tag) {
		t.Fatal("the tag is wrong")
	}
	block, err := aes.NewCipher(keys[:16])
	if err != nil {
		t.Fatal(err)
	}
	open := make([]byte, len(sealed))
	cipher.NewCTR(block, keys[16:32]).XORKeyStream(open, sealed)
	var digits strings.Builder
	for _, b := range open {
		fmt.Fprintf(&digits, "%x%x", b&15, b>>4)
	}
	return strings.TrimSuffix(digits.String(), "f")
}

func TestConcealedSubscribers(t *testing.T) {
	for _, p := range profiles {
		for _, digits := range []int{15, 14} {
			in := testNetwork(1e6)
			in.SUPI.Digits, in.GPSI = digits, nil
			in.SUCI = &rv.SUCI{PublicKey: p.homePublic, KeyID: 27, RoutingIndicator: "678"}
			s := subscribers(t, in)
			for _, n := range []int64{0, 7, 255, 256, 999_999} {
				suci := string(s.Append(nil, n, 1))
				head := fmt.Sprintf("suci-0-001-01-678-%d-27-", p.scheme)
				output, found := strings.CutPrefix(suci, head)
				if want := fmt.Sprintf("%0*d", digits-5, n); !found || reveal(t, &p, octets(t, output)) != want {
					t.Errorf("%s: want %s and the MSIN %s", suci, head, want)
				}
			}
		}
	}
}

func TestWrongSUCIs(t *testing.T) {
	const key = "suci.publicKey: must be a key of X25519 with 64 hexadecimal digits (profile A), or a point of P-256 with 66 or 130 (profile B)"
	for _, tt := range []struct {
		suci rv.SUCI
		want string
	}{
		{rv.SUCI{PublicKey: "0011"}, key},
		{rv.SUCI{PublicKey: strings.Repeat("g", 64)}, key},
		{rv.SUCI{PublicKey: "02" + strings.Repeat("ff", 32)}, key},
		{rv.SUCI{PublicKey: "04" + strings.Repeat("01", 64)}, key},
		{rv.SUCI{PublicKey: strings.Repeat("0", 64)}, "suci.publicKey: is not a key of the curve: crypto/ecdh: bad X25519 remote ECDH input: low order point"},
		{rv.SUCI{RoutingIndicator: "12345"}, "suci.routingIndicator: must have 1 to 4 digits"},
		{rv.SUCI{KeyID: 256}, "suci.keyID: must be from 1 to 255"},
	} {
		in := testNetwork(1)
		in.SUCI = &tt.suci
		if _, err := NewSubscribers(in, nil); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v, want %s", tt.suci, err, tt.want)
		}
	}
}
