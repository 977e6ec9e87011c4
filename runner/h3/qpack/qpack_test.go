package qpack

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	xqpack "github.com/quic-go/qpack"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

type field struct{ Name, Value string }

type list struct{ fields []field }

func (l *list) Field(name, value []byte, _ hpack.Class) {
	l.fields = append(l.fields, field{string(name), string(value)})
}

// theirs decodes a block with another implementation.
func theirs(block []byte) (fields []field, err error) {
	next := xqpack.NewDecoder().Decode(block)
	for {
		f, err := next()
		if errors.Is(err, io.EOF) {
			return fields, nil
		}
		if err != nil {
			return fields, err
		}
		fields = append(fields, field{f.Name, f.Value})
	}
}

// TestEncode: another implementation decodes what is encoded, and so does Decode.
func TestEncode(t *testing.T) {
	var block []byte
	var want []field
	add := func(b []byte, name, value string) {
		block = b
		want = append(want, field{name, value})
	}
	block = []byte(Prefix)
	for i, p := range staticPairs {
		if strings.HasPrefix(p[0], ":") {
			add(AppendIndexed(block, i+1), p[0], p[1])
		}
	}
	for _, p := range staticPairs {
		if strings.HasPrefix(p[0], ":") {
			continue
		}
		full, name := StaticIndex(p[0], p[1])
		add(AppendIndexed(block, full), p[0], p[1])
		add(AppendLiteral(block, hpack.Without, name, p[0], "another"), p[0], "another")
		add(AppendLiteral(block, hpack.Never, name, p[0], "\x7f\x7f"), p[0], "\x7f\x7f")
	}
	for _, name := range []string{"x", "x-name", "x-a-name-that-is-longer-than-its-prefix-by-far", "~~~~~~~~"} {
		add(AppendLiteral(block, hpack.Without, 0, name, strings.Repeat("v", 300)), name, strings.Repeat("v", 300))
		add(AppendLiteral(block, hpack.Never, 0, name, ""), name, "")
	}
	got, err := theirs(block)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("theirs: %v (-want +got):\n%s", err, diff)
	}
	var ours list
	d := Decoder{MaxList: 1 << 20}
	var sum hpack.Summary
	if err := d.Decode(&sum, block, &ours); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, f := range want {
		size += hpack.EntrySize(f.Name, f.Value)
	}
	if sum.Size != uint64(size) || !sum.Malformed { // the pseudo-header fields come more than once
		t.Errorf("summary %+v, want size %d and malformed", sum, size)
	}
}

// TestDecode has the rules of RFC 9204, and what the summary says.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, block string
		want        []field
		err         error
		malformed   bool
	}{
		{name: "4.5.1 no prefix", block: "", err: hpack.ErrTruncated},
		{name: "4.5.1 half a prefix", block: "\x00", err: hpack.ErrTruncated},
		{name: "4.5.1 an insert count", block: "\x01\x00", err: ErrDynamic},
		{name: "4.5.1 a base above the insert count", block: "\x00\x05\xd9", want: []field{{":status", "200"}}},
		{name: "4.5.1 a base below 0", block: "\x00\x80\xd9", err: ErrDynamic},
		{name: "4.5.2 a static index", block: "\x00\x00\xd9", want: []field{{":status", "200"}}},
		{name: "4.5.2 the last static index", block: "\x00\x00\xff\x23", want: []field{{"x-frame-options", "sameorigin"}}},
		{name: "4.5.2 no such static index", block: "\x00\x00\xff\x24", err: hpack.ErrIndex},
		{name: "4.5.2 a dynamic index", block: "\x00\x00\x80", err: ErrDynamic},
		{name: "4.5.3 an index after the base", block: "\x00\x00\x10", err: ErrDynamic},
		{name: "4.5.4 a static name", block: "\x00\x00\x54\x011", want: []field{{"content-length", "1"}}},
		{name: "4.5.4 a dynamic name", block: "\x00\x00\x40\x011", err: ErrDynamic},
		{name: "4.5.4 no value", block: "\x00\x00\x54", err: hpack.ErrTruncated},
		{name: "4.5.4 no such name", block: "\x00\x00\x5f\x70\x011", err: hpack.ErrIndex},
		{name: "4.5.5 a name after the base", block: "\x00\x00\x00\x011", err: ErrDynamic},
		{name: "4.5.6 a literal name", block: "\x00\x00\x21a\x01b", want: []field{{"a", "b"}}},
		{name: "4.5.6 a Huffman coded name", block: "\x00\x00\x29\x1f\x01b", want: []field{{"a", "b"}}},
		{name: "4.5.6 bad Huffman coding", block: "\x00\x00\x29\x00\x01b", err: hpack.ErrHuffman},
		{name: "4.5.6 a name cut short", block: "\x00\x00\x27\x00a", err: hpack.ErrTruncated},
		{name: "4.1.1 an integer too large", block: "\x00\x00\xff\xff\xff\xff\xff\xff\x01", err: hpack.ErrInteger},
		{name: "RFC 9114 4.2 an upper-case name", block: "\x00\x00\x21A\x01b", malformed: true},
		{name: "RFC 9114 4.3 a pseudo-header field after another field", block: "\x00\x00\x21a\x01b\xd9", malformed: true,
			want: []field{{"a", "b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got list
			var sum, blind hpack.Summary
			d := Decoder{MaxList: 1000}
			err := d.Decode(&sum, []byte(c.block), &got)
			if !errors.Is(err, c.err) || sum.Malformed != c.malformed {
				t.Errorf("error %v, malformed %t; want %v, %t", err, sum.Malformed, c.err, c.malformed)
			}
			if diff := cmp.Diff(c.want, got.fields); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := d.Decode(&blind, []byte(c.block), nil); !errors.Is(err, c.err) || blind != sum {
				t.Errorf("without a sink: %+v, %v", blind, err)
			}
		})
	}
}

func TestSinkGetsNothingAboveTheLimit(t *testing.T) {
	block := AppendLiteral([]byte(Prefix), hpack.Without, 0, "a", "b")
	block = AppendLiteral(block, hpack.Without, 0, "c", "d")
	var got list
	var sum hpack.Summary
	d := Decoder{MaxList: uint64(hpack.EntrySize("a", "b"))}
	if err := d.Decode(&sum, block, &got); err != nil || len(got.fields) != 1 || sum.Size <= d.MaxList {
		t.Errorf("%v, %+v, %v", got.fields, sum, err)
	}
}

// FuzzDecode: what another implementation decodes, Decode does, too, unless it refers to a dynamic table.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x00\x00\xd9\x54\x011\x21a\x01b"))
	f.Add(AppendLiteral([]byte(Prefix), hpack.Never, 0, "x-long-name", "value"))
	f.Fuzz(func(t *testing.T, block []byte) {
		var got list
		var sum, blind hpack.Summary
		d := Decoder{MaxList: 1 << 20}
		err := d.Decode(&sum, block, &got)
		if err2 := d.Decode(&blind, block, nil); !errors.Is(err2, err) || blind != sum {
			t.Fatalf("with a sink %+v, %v; without %+v, %v", sum, err, blind, err2)
		}
		want, theirErr := theirs(block)
		if err == nil && theirErr == nil && !sum.Malformed {
			if diff := cmp.Diff(want, got.fields, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-theirs +ours):\n%s", diff)
			}
		}
		if err == nil && theirErr != nil {
			t.Fatalf("theirs: %v", theirErr)
		}
	})
}
