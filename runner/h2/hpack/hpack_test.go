package hpack

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	xhpack "golang.org/x/net/http2/hpack"
)

type field struct{ Name, Value string }

// newDecoder returns a decoder of a connection that has just begun.
func newDecoder(maxList uint32) *Decoder {
	d := new(Decoder)
	d.Init(maxList)
	return d
}

// list is a Sink that keeps copies.
type list struct{ fields []field }

func (l *list) Field(name, value []byte, _ Class) {
	l.fields = append(l.fields, field{string(name), string(value)})
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestResponsesOfTheRFC decodes the response sequences of RFC 7541 appendix C.5
// (raw) and C.6 (Huffman) with their table of 256 octets.
func TestResponsesOfTheRFC(t *testing.T) {
	date := func(s string) field { return field{"date", "Mon, 21 Oct 2013 20:13:2" + s + " GMT"} }
	location := field{"location", "https://www.example.com"}
	want := [][]field{
		{{":status", "302"}, {"cache-control", "private"}, date("1"), location},
		{{":status", "307"}, {"cache-control", "private"}, date("1"), location},
		{{":status", "200"}, {"cache-control", "private"}, date("2"), location, {"content-encoding", "gzip"},
			{"set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"}},
	}
	sizes := []uint32{222, 222, 215}
	for name, blocks := range map[string][]string{
		"C.5": {
			"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
			"4803333037c1c0bf",
			"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
		},
		"C.6": {
			"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
			"4883640effc1c0bf",
			"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
		},
	} {
		d := newDecoder(1 << 16)
		d.dyn.resize(256)
		for i, b := range blocks {
			var l list
			if _, err := d.decode(unhex(t, b), &l); err != nil {
				t.Fatalf("%s block %d: %v", name, i, err)
			}
			if diff := cmp.Diff(want[i], l.fields); diff != "" {
				t.Errorf("%s block %d (-want +got):\n%s", name, i, diff)
			}
			if d.dyn.size != sizes[i] {
				t.Errorf("%s block %d: table size %d, want %d", name, i, d.dyn.size, sizes[i])
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tc := range []struct {
		name, block string
		want        error
	}{
		{"2.1 index zero", "80", ErrIndex},
		{"2.3.3 index beyond both tables", "be", ErrIndex},
		{"2.3.3 name index beyond both tables", "7f00 0161", ErrIndex},
		{"5.1 integer cut", "ff", ErrTruncated},
		{"5.1 integer cut after a continuation", "ff80", ErrTruncated},
		{"5.1 integer above 32 bits", "ffffffffff7f", ErrInteger},
		{"5.1 integer without an end", "ff8080808080808080808000", ErrInteger},
		{"5.2 string longer than the block", "000561", ErrTruncated},
		{"5.2 no value", "4001 61", ErrTruncated},
		{"5.2 padding of eight bits", "0081ff 00", ErrHuffman},
		{"5.2 padding not of ones", "0081 18 00", ErrHuffman},
		{"5.2 EOS inside", "0084 ffffffff 00", ErrHuffman},
		{"4.2 size update above the limit", "3fe21f", ErrTableSize},
		{"4.2 size update after a field", "8820", ErrTableSize},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, sink := range []Sink{nil, new(list)} {
				if _, err := newDecoder(1<<16).decode(unhex(t, tc.block), sink); !errors.Is(err, tc.want) {
					t.Errorf("Decode with sink %v: %v, want %v", sink, err, tc.want)
				}
			}
		})
	}
}

// TestLimit walks through RFC 9113 4.3.1: a table made smaller by us must be
// confirmed by a size update in the next block.
func TestLimit(t *testing.T) {
	d := newDecoder(1 << 16)
	d.Limit(100)
	if _, err := d.decode([]byte{0x88}, nil); !errors.Is(err, ErrTableSize) {
		t.Errorf("no size update: %v, want ErrTableSize", err)
	}
	if _, err := d.decode(append(AppendTableSizeUpdate(nil, 101), 0x88), nil); !errors.Is(err, ErrTableSize) {
		t.Errorf("size update above the limit: %v, want ErrTableSize", err)
	}
	two := AppendTableSizeUpdate(AppendTableSizeUpdate(nil, 0), 100)
	if _, err := d.decode(append(two, 0x88), nil); err != nil {
		t.Errorf("two size updates: %v", err)
	}
	if _, err := d.decode([]byte{0x88}, nil); err != nil {
		t.Errorf("the block after: %v", err)
	}
}

func TestSummary(t *testing.T) {
	type pair = [2]string
	for _, tc := range []struct {
		name   string
		fields []pair
		want   Summary
	}{
		{"8.3.2 status", []pair{{":status", "201"}, {"server", "x"}},
			Summary{Status: 201, ContentLength: -1, Size: 42 + 39, Pseudo: Status.Bit()}},
		{"8.3 status after a field", []pair{{"server", "x"}, {":status", "201"}}, Summary{Status: 201, Malformed: true}},
		{"8.3 status twice", []pair{{":status", "200"}, {":status", "200"}}, Summary{Status: 200, Malformed: true}},
		{"9110 15 status of two digits", []pair{{":status", "20"}}, Summary{Malformed: true}},
		{"9110 15 status below 100", []pair{{":status", "099"}}, Summary{Malformed: true}},
		{"9110 15 status not a number", []pair{{":status", "2x0"}}, Summary{Malformed: true}},
		{"8.3 unknown pseudo-header field", []pair{{":status", "200"}, {":x", ""}},
			Summary{Status: 200, ContentLength: -1, Size: 42 + 34, Pseudo: Status.Bit() | OtherPseudo.Bit()}},
		{"8.2.1 upper case", []pair{{":status", "200"}, {"Server", "x"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 empty name", []pair{{":status", "200"}, {"", "x"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 space in name", []pair{{":status", "200"}, {"a b", "x"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 colon in name", []pair{{":status", "200"}, {"a:b", "x"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 octet above 0x7f in name", []pair{{":status", "200"}, {"\x80", "x"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 NUL in value", []pair{{":status", "200"}, {"a", "12345678\x00"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 CR in value", []pair{{":status", "200"}, {"a", "123\r4567890"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 LF in value", []pair{{":status", "200"}, {"a", "\n"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 tab and others inside a value are right", []pair{{":status", "200"}, {"a", "1\t\x01\x0b\x0c\x0e\xff0"}},
			Summary{Status: 200, ContentLength: -1, Size: 42 + 41, Pseudo: Status.Bit()}},
		{"8.2.1 space before a value", []pair{{":status", "200"}, {"a", " b"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.1 tab after a value", []pair{{":status", "200"}, {"a", "b\t"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.2 connection", []pair{{":status", "200"}, {"connection", "close"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.2 keep-alive", []pair{{":status", "200"}, {"keep-alive", "5"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.2 transfer-encoding", []pair{{":status", "200"}, {"transfer-encoding", "chunked"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.2 upgrade", []pair{{":status", "200"}, {"upgrade", "h3"}}, Summary{Status: 200, Malformed: true}},
		{"8.2.2 te: trailers", []pair{{"te", "trailers"}}, Summary{ContentLength: -1, Size: 42}},
		{"8.2.2 te: gzip", []pair{{"te", "gzip"}}, Summary{Malformed: true}},
		{"9110 8.6 content-length", []pair{{"content-length", "0123"}}, Summary{ContentLength: 123, Size: 50}},
		{"9110 8.6 the same twice", []pair{{"content-length", "7"}, {"content-length", "7"}}, Summary{ContentLength: 7, Size: 94}},
		{"9110 8.6 two", []pair{{"content-length", "7"}, {"content-length", "8"}}, Summary{ContentLength: 8, Malformed: true}},
		{"9110 8.6 negative", []pair{{"content-length", "-1"}}, Summary{Malformed: true}},
		{"9110 8.6 empty", []pair{{"content-length", ""}}, Summary{Malformed: true}},
		{"9110 8.6 huge", []pair{{"content-length", "1000000000000000000"}}, Summary{Malformed: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, ind := range []Indexing{Incremental, Without, Never} {
				checkSummary(t, ind, tc.fields, tc.want)
			}
		})
	}
}

// checkSummary decodes the fields as literals, then (when they were indexed)
// by their indices, and wants the same summary.
func checkSummary(t *testing.T, ind Indexing, fields [][2]string, want Summary) {
	t.Helper()
	var literals, indices []byte
	for i, f := range fields {
		literals = AppendLiteral(literals, ind, 0, f[0], f[1])
		indices = AppendIndexed(indices, staticCount+len(fields)-i)
	}
	d := newDecoder(1 << 16)
	blocks := [][]byte{literals, indices}
	if ind != Incremental {
		blocks = blocks[:1]
	}
	for i, b := range blocks {
		got, err := d.decode(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want.Malformed { // the rest is of no interest then
			if !got.Malformed {
				t.Errorf("block %d: %+v, want it malformed", i, got)
			}
			continue
		}
		got.regular = false
		if got != want {
			t.Errorf("block %d: %+v, want %+v", i, got, want)
		}
	}
}

// TestListLimit: fields beyond the limit keep the table right but do not reach
// the sink.
func TestListLimit(t *testing.T) {
	d := newDecoder(80)
	var l list
	b := AppendLiteral(nil, Incremental, 0, "a", "1")
	b = AppendLiteral(b, Incremental, 0, "b", "22222222222222222")
	s, err := d.decode(b, &l)
	if err != nil || s.Size != 34+50 {
		t.Errorf("Size %d, err %v, want 84, nil", s.Size, err)
	}
	if diff := cmp.Diff([]field{{"a", "1"}}, l.fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if d.dyn.count != 2 {
		t.Errorf("%d table entries, want 2", d.dyn.count)
	}
}

// TestEntryAsLargeAsTheTable is RFC 7541 4.4: it fits alone; one octet more, and
// the table is emptied.
func TestEntryAsLargeAsTheTable(t *testing.T) {
	for extra, want := range []uint32{1, 0} {
		d := newDecoder(1 << 16)
		b := AppendTableSizeUpdate(nil, 100)
		b = AppendLiteral(b, Incremental, 0, "a", "b")
		b = AppendString(AppendLiteralPrefix(b, Incremental, 0, "n"), make([]byte, 100-EntryOverhead-1+extra))
		if _, err := d.decode(b, nil); err != nil || d.dyn.count != want {
			t.Errorf("an entry of %d octets: %d entries, err %v, want %d", 100+extra, d.dyn.count, err, want)
		}
	}
}

func TestStaticTable(t *testing.T) {
	for i, p := range staticPairs {
		var l list
		if _, err := newDecoder(1<<16).decode(AppendIndexed(nil, i+1), &l); err != nil {
			t.Fatal(err)
		}
		var want []field
		d := xhpack.NewDecoder(4096, func(f xhpack.HeaderField) { want = append(want, field{f.Name, f.Value}) })
		if _, err := d.Write(AppendIndexed(nil, i+1)); err != nil {
			t.Fatal(err)
		}
		malformed := p[0] == "transfer-encoding" || p[0] == "content-length" || p == [2]string{":status", ""}
		if malformed {
			want = nil
		}
		if diff := cmp.Diff(want, l.fields); diff != "" {
			t.Errorf("index %d (-want +got):\n%s", i+1, diff)
		}
		if full, name := StaticIndex(p[0], p[1]); full != i+1 || name > i+1 || staticPairs[name-1][0] != p[0] {
			t.Errorf("StaticIndex(%q, %q) = %d, %d, want %d and the first of the name", p[0], p[1], full, name, i+1)
		}
	}
	if full, name := StaticIndex(":method", "PATCH"); full != 0 || name != 2 {
		t.Errorf("StaticIndex(:method PATCH) = %d, %d, want 0, 2", full, name)
	}
	if full, name := StaticIndex("x", ""); full != 0 || name != 0 {
		t.Errorf("StaticIndex(x) = %d, %d, want 0, 0", full, name)
	}
}

// TestHuffmanOracle decodes what x/net encodes: every symbol beside every
// other, then random strings.
func TestHuffmanOracle(t *testing.T) {
	check := func(s string) {
		t.Helper()
		got, err := AppendHuffman([]byte("x"), xhpack.AppendHuffmanString(nil, s))
		if err != nil || string(got) != "x"+s {
			t.Fatalf("%q: %q, %v", s, got, err)
		}
	}
	for i := range 256 {
		for j := range 256 {
			check(string([]byte{byte(i), byte(j)}))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, r.IntN(60))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		check(string(b))
	}
}

// randomFields makes a header list of few names and many values, so that all
// kinds of representation turn up. Nothing in it is malformed.
func randomFields(r *rand.Rand) []field {
	names := []string{"server", "date", "location", "x-a", "x-trace-id", "etag", "cache-control", strings.Repeat("n", 1+r.IntN(80))}
	fields := []field{{":status", fmt.Sprint(200 + r.IntN(8))}}
	for range r.IntN(12) {
		v := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(4)) + fmt.Sprint(r.IntN(4))
		if r.IntN(10) == 0 {
			v = strings.Repeat("~", r.IntN(300))
		}
		fields = append(fields, field{names[r.IntN(len(names))], v})
	}
	return fields
}

// TestDecodeOracle decodes what x/net's encoder makes of random header lists
// under random table sizes.
func TestDecodeOracle(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		var buf strings.Builder
		enc := xhpack.NewEncoder(&buf)
		dec, blind := newDecoder(1<<20), newDecoder(1<<20)
		for n := range 200 {
			if r.IntN(10) == 0 {
				for range 1 + r.IntN(3) {
					enc.SetMaxDynamicTableSize([]uint32{0, 40, 100, 256, 1000, 4096}[r.IntN(6)])
				}
			}
			want := randomFields(r)
			buf.Reset()
			for _, f := range want {
				if err := enc.WriteField(xhpack.HeaderField{Name: f.Name, Value: f.Value, Sensitive: r.IntN(9) == 0}); err != nil {
					t.Fatal(err)
				}
			}
			var l list
			got, err := dec.decode([]byte(buf.String()), &l)
			if err != nil {
				t.Fatalf("seed %d block %d: %v", seed, n, err)
			}
			if diff := cmp.Diff(want, l.fields); diff != "" {
				t.Fatalf("seed %d block %d (-want +got):\n%s", seed, n, diff)
			}
			if s, err := blind.decode([]byte(buf.String()), nil); err != nil || s != got {
				t.Fatalf("seed %d block %d without a sink: %+v, %v, want %+v", seed, n, s, err, got)
			}
			if c := cap(dec.dyn.buf); c > 2*DefaultTableSize {
				t.Fatalf("table buffer of %d octets", c)
			}
		}
	}
}

// TestEncodeOracle has x/net decode what the append functions make.
func TestEncodeOracle(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var got []field
		dec := xhpack.NewDecoder(4096, func(f xhpack.HeaderField) { got = append(got, field{f.Name, f.Value}) })
		for n := range 100 {
			want := randomFields(r)
			var b []byte
			if r.IntN(5) == 0 {
				b = AppendTableSizeUpdate(b, uint32(r.IntN(4097)))
			}
			for _, f := range want {
				b = appendAnyhow(b, r, f)
			}
			got = got[:0]
			if _, err := dec.Write(b); err != nil {
				t.Fatalf("seed %d block %d: %v", seed, n, err)
			}
			if err := dec.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d block %d (-want +got):\n%s", seed, n, diff)
			}
		}
	}
}

func appendAnyhow(b []byte, r *rand.Rand, f field) []byte {
	full, name := StaticIndex(f.Name, f.Value)
	ind := Indexing(r.IntN(3))
	switch {
	case full != 0 && r.IntN(2) == 0:
		return AppendIndexed(b, full)
	case r.IntN(2) == 0:
		return AppendString(AppendLiteralPrefix(b, ind, name, f.Name), []byte(f.Value))
	case r.IntN(2) == 0:
		return AppendLiteral(b, ind, 0, f.Name, f.Value)
	}
	return AppendLiteral(b, ind, name, f.Name, f.Value)
}

func TestAppendInt(t *testing.T) {
	for _, tc := range []struct {
		first  byte
		prefix uint8
		v      uint64
		want   string
	}{
		{0xe0, 5, 10, "ea"},       // RFC 7541 C.1.1
		{0xe0, 5, 1337, "ff9a0a"}, // C.1.2
		{0, 8, 42, "2a"},          // C.1.3
		{0x80, 7, 127, "ff00"},
		{0x40, 6, 62, "7e"},
	} {
		if got := hex.EncodeToString(AppendInt(nil, tc.first, tc.prefix, tc.v)); got != tc.want {
			t.Errorf("AppendInt(%#x, %d, %d) = %s, want %s", tc.first, tc.prefix, tc.v, got, tc.want)
		}
	}
}

// decode is Decode with the summary as a result.
func (d *Decoder) decode(p []byte, sink Sink) (s Summary, err error) {
	err = d.Decode(&s, p, sink)
	return s, err
}
