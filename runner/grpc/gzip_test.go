package grpc

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// gzipped compresses with the standard library.
func gzipped(t testing.TB, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCompressed: each message of a request is compressed by itself, with and without placeholders.
func TestCompressed(t *testing.T) {
	pieces, err := method(t, "Upload").Request([][]byte{[]byte(`{"id":"7"}`), []byte(`{"id":"` + Mark(0) + `"}`)}, true)
	if err != nil {
		t.Fatal(err)
	}
	octets, ok := appendPieces(nil, pieces, []string{strings.Repeat("s", 500)})
	if !ok || len(octets) > 150 {
		t.Errorf("%d octets, %v", len(octets), ok)
	}
	for _, want := range []string{"\x0a\x017", "\x0a\xf4\x03" + strings.Repeat("s", 500)} {
		message, rest, compressed, err := cut(octets)
		if err != nil || !compressed {
			t.Fatalf("%x: %v, compressed %v", octets, err, compressed)
		}
		r, err := gzip.NewReader(bytes.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		octets = rest
	}
}

// TestCompressedResponse: messages with and without compression, within what may be kept.
func TestCompressedResponse(t *testing.T) {
	plain := []byte("\x0a\x017")
	small := framed(gzipped(t, string(plain)), 0, 1)
	large := framed(gzipped(t, "\x0a\x80\x89\x7a"+strings.Repeat("z", 2_000_000)), 0, 1)
	both := string(small) + string(framed(plain, 0, 0))
	for _, tt := range []struct {
		body, encoding string
		most           int
		want, err      string
	}{
		{string(small), "gzip", 3, `[{"id":"7",`, ""},
		{both, "gzip", 10, `[{"id":"7",`, ""},
		{string(small) + string(small), "gzip", 5, "", ErrTooLarge.Error()},
		{string(small), "gzip", 2, "", ErrTooLarge.Error()},
		{string(large), "gzip", 1 << 20, "", ErrTooLarge.Error()},
		{string(small), "identity", 100, "", `grpc-encoding is "identity", not gzip`},
		{"\x01" + string(framed(plain, 0, 0)[1:]), "gzip", 100, "", "not compressed with gzip"},
		{string(framed(gzipped(t, string(plain))[:20], 0, 1)), "gzip", 100, "", "not compressed with gzip"},
	} {
		got, err := method(t, "Watch").AppendJSON(nil, Response{Body: []byte(tt.body), Encoding: []byte(tt.encoding), Most: tt.most}, new(Gzip))
		text := strings.ReplaceAll(string(got), " ", "")
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || !strings.HasPrefix(text, tt.want) {
			t.Errorf("%x: %s, %v; want %s, %s", tt.body[:min(30, len(tt.body))], got, err, tt.want, tt.err)
		}
	}
}

// TestGzipAgain: a Gzip is used again after a mistake.
func TestGzipAgain(t *testing.T) {
	var g Gzip
	good := gzipped(t, "text")
	for range 2 {
		if got, err := g.decompress(good, 4); err != nil || string(got) != "text" {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := g.decompress(good[:15], 4); err == nil || errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		if _, err := g.decompress(good, 3); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	}
}

func TestTimeout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Second: "5S", 1500 * time.Millisecond: "1500m", 20 * time.Microsecond: "20u", 1: "1n", 24 * time.Hour: "86400S",
		time.Hour + 1: "3600000m", 99*time.Second + time.Microsecond: "99000001u",
	} {
		if got := Timeout(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func FuzzAppendJSON(f *testing.F) {
	watch := method(f, "Watch")
	f.Add([]byte("\x00\x00\x00\x00\x03\x0a\x01x"))
	f.Add(framed(gzipped(f, "\x0a\x01x"), 0, 1))
	const most = 1 << 10
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := watch.AppendJSON(nil, Response{Body: body, Encoding: []byte("gzip"), Most: most}, new(Gzip))
		if err == nil && !json.Valid(got) {
			t.Errorf("%x: %s", body, got)
		}
	})
}
