package hpack

import "testing"

type tally struct{ octets int }

func (t *tally) Field(name, value []byte, _ Class) { t.octets += len(name) + len(value) }

// BenchmarkDecode is a block of nghttpd's: a status and four fields, all by
// index; and one with a location after two indices.
func BenchmarkDecode(b *testing.B) {
	first := AppendIndexed(nil, 8)
	for _, f := range []field{{"server", "nghttpd nghttp2/1.52.0"}, {"cache-control", "max-age=3600"},
		{"date", "Mon, 21 Oct 2013 20:13:21 GMT"}, {"content-length", "6"}} {
		first = AppendLiteral(first, Incremental, 0, f.Name, f.Value)
	}
	indexed := []byte{0x88, 0xc1, 0xc0, 0xbf, 0xbe}
	location := "/npcf-policyauthorization/v1/app-sessions/0000000001"
	raw := AppendString(AppendLiteralPrefix([]byte{0x88, 0xbf}, Without, 46, "location"), []byte(location))
	huffman := AppendLiteral([]byte{0x88, 0xbf}, Without, 46, "location", location)
	for _, c := range []struct {
		name  string
		block []byte
		sink  Sink
	}{
		{"indexed", indexed, nil}, {"indexed-sink", indexed, new(tally)},
		{"location", raw, nil}, {"location-sink", raw, new(tally)}, {"location-huffman-sink", huffman, new(tally)},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := newDecoder(1 << 16)
			if _, err := d.decode(first, nil); err != nil {
				b.Fatal(err)
			}
			var s Summary
			for b.Loop() {
				if err := d.Decode(&s, c.block, c.sink); err != nil || s.Status != 200 {
					b.Fatal(s, err)
				}
			}
		})
	}
}
