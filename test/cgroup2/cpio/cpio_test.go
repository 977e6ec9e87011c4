package cpio

import (
	"bytes"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entry is what an archive has of a file.
type entry struct {
	Name    string
	Mode    int64
	Content string
}

// read takes an archive apart by the format's description: it knows nothing of Writer.
func read(t *testing.T, archive []byte) (entries []entry) {
	t.Helper()
	for at := 0; ; {
		header := archive[at : at+110]
		if string(header[:6]) != "070701" {
			t.Fatalf("no header at %d: %q", at, header)
		}
		field := func(n int) int64 {
			v, err := strconv.ParseInt(string(header[6+8*n:14+8*n]), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		size, nameSize := int(field(6)), int(field(11))
		name := string(archive[at+110 : at+110+nameSize-1])
		at = (at + 110 + nameSize + 3) / 4 * 4
		entries = append(entries, entry{name, field(1), string(archive[at : at+size])})
		at = (at + size + 3) / 4 * 4
		if name == "TRAILER!!!" {
			if at != len(archive) {
				t.Errorf("%d octets after the trailer", len(archive)-at)
			}
			return entries
		}
	}
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, err := range []error{
		w.Directory("etc", 0o755),
		w.File("etc/a", 0o600, []byte("12345")),
		w.File("init", 0o755, []byte("1234")),
		w.File("empty", 0o644, nil),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []entry{
		{Name: "etc", Mode: 0o040755},
		{Name: "etc/a", Mode: 0o100600, Content: "12345"},
		{Name: "init", Mode: 0o100755, Content: "1234"},
		{Name: "empty", Mode: 0o100644},
		{Name: "TRAILER!!!"},
	}
	if diff := cmp.Diff(want, read(t, b.Bytes())); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

// failing fails the write after some.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errDisk
	}
	return len(b), nil
}

var errDisk = errors.New("disk full")

func TestWriterKeepsTheFirstError(t *testing.T) {
	w := NewWriter(&failing{left: 1})
	if err := w.File("a", 0o644, []byte("x")); !errors.Is(err, errDisk) {
		t.Errorf("File: %v, want %v", err, errDisk)
	}
	if err := w.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: %v, want %v", err, errDisk)
	}
}
