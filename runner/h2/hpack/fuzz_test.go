package hpack

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	xhpack "golang.org/x/net/http2/hpack"
)

// FuzzDecode splits the input into blocks, an octet of length before each, and
// wants from the decoder what x/net's gives: the same fields or an error too.
// With and without a sink it must say the same, and its memory stays bounded.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x02\x88\xbe"))
	f.Add(append([]byte{11}, AppendLiteral(nil, Incremental, 0, "name", "value")...))
	f.Add([]byte("\x02\x20\x88\x03\x3f\xe1\x1f"))
	f.Add([]byte("\x06\x40\x01a\x01b\xbe\x05\x7e\x01c\xbe\xbf"))
	f.Add([]byte("\x06\x40\x01a\x01b\x03\x88\xbe\x03\x88\xbe\x06\x40\x01c\x01d\x03\x88\xbe")) // equal blocks, another table
	f.Fuzz(func(t *testing.T, in []byte) {
		d, blind := newDecoder(1<<20), newDecoder(1<<20)
		var theirs []field
		oracle := xhpack.NewDecoder(4096, func(f xhpack.HeaderField) { theirs = append(theirs, field{f.Name, f.Value}) })
		for len(in) > 0 {
			n := min(1+int(in[0]), len(in))
			block := in[1:n]
			in = in[n:]

			var ours list
			sum, err := d.decode(block, &ours)
			sum2, err2 := blind.decode(block, nil)
			if sum != sum2 || !errors.Is(err, err2) {
				t.Fatalf("with a sink %+v, %v; without %+v, %v", sum, err, sum2, err2)
			}
			if c := cap(d.dyn.buf); c > 2*DefaultTableSize {
				t.Fatalf("table buffer of %d octets", c)
			}
			theirs = theirs[:0]
			_, oracleErr := oracle.Write(block)
			if oracleErr == nil {
				oracleErr = oracle.Close()
			}
			if err != nil || oracleErr != nil {
				compareErrors(t, block, err, oracleErr)
				return
			}
			if !sum.Malformed {
				if diff := cmp.Diff(theirs, ours.fields, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("fields (-theirs +ours):\n%s", diff)
				}
			}
		}
	})
}

// compareErrors allows the one known difference: x/net lets a size update come
// after fields while the table is empty, RFC 7541 4.2 never.
func compareErrors(t *testing.T, block []byte, ours, theirs error) {
	t.Helper()
	if (ours == nil) != (theirs == nil) && !errors.Is(ours, ErrTableSize) {
		t.Fatalf("block %x: ours %v, theirs %v", block, ours, theirs)
	}
}
