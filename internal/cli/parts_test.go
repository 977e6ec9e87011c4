package cli

import (
	"strings"
	"testing"
)

func TestPartsText(t *testing.T) {
	mask := func(s string) string { return strings.ReplaceAll(s, "\x00secret", "<secret>") }
	content := "--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nContent-Type: a/b; c=d\r\nContent-ID: <n1>\r\n\r\n\x7e\x00\r\n--b\r\n\r\n\x00secret\r\n--b--"
	want := "part application/json\n{}\npart a/b, Content-ID n1\nhex: 7e00\npart \n<secret>\n"
	if got, ok := partsText("multipart/related; boundary=b", []byte(content), mask); got != want || !ok {
		t.Errorf("%q, want %q", got, want)
	}
	for _, kind := range []string{"application/json", "multipart/related; boundary=c"} {
		if got, ok := partsText(kind, []byte(content), mask); ok {
			t.Errorf("%s: %q", kind, got)
		}
	}
	if got, ok := partsText("multipart/related; boundary=b", []byte(content[:len(content)-5]), mask); ok {
		t.Errorf("cut: %q", got)
	}
}
