package multipart

import (
	"bytes"
	"errors"
	"io"
	stdmultipart "mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kind = `multipart/related; boundary=b; type="application/json"`

// lines joins lines by CRLF.
func lines(s ...string) []byte { return []byte(strings.Join(s, "\r\n")) }

// read returns "Content-ID|media type|content" of each part.
func read(contentType string, content []byte) (out []string, err error) {
	r, err := NewReader([]byte(contentType), content)
	if err != nil {
		return nil, err
	}
	for {
		p, more, err := r.Next()
		if err != nil || !more {
			return out, err
		}
		out = append(out, string(p.ContentID())+"|"+string(p.MediaType())+"|"+string(p.Body))
	}
}

func TestRead(t *testing.T) {
	two := lines("--b", "Content-Type: application/json", "", "{}", "--b", "content-id: <n1>", "CONTENT-TYPE: a/b; x=y", "", "\x00\r\n\xff", "--b--", "")
	for name, tt := range map[string]struct {
		kind    string
		content []byte
		want    []string
		err     error
	}{
		"two parts":                {kind, two, []string{"|application/json|{}", "n1|a/b|\x00\r\n\xff"}, nil},
		"without the last line":    {kind, two[:len(two)-2], []string{"|application/json|{}", "n1|a/b|\x00\r\n\xff"}, nil},
		"preamble and epilogue":    {kind, lines("preamble --b", "--b", "", "x", "--b--", "epilogue --b", "--b"), []string{"||x"}, nil},
		"padding":                  {kind, lines("--b \t", "", "x", "--b-- ", ""), []string{"||x"}, nil},
		"a longer boundary":        {kind, lines("--b", "", "x", "--bb", "--b-", "y", "--b--"), []string{"||x\r\n--bb\r\n--b-\r\ny"}, nil},
		"a boundary within a line": {kind, lines("--b", "", "x--b", "--b--"), []string{"||x--b"}, nil},
		"a line end of Unix":       {kind, lines("--b", "", "x\n--b\ny", "--b--"), []string{"||x\n--b\ny"}, nil},
		"an empty part":            {kind, lines("--b", "", "", "--b--"), []string{"||"}, nil},
		"a header and no content":  {kind, lines("--b", "Content-ID: x", "", "--b--"), []string{"x||"}, nil},
		"an empty content":         {kind, lines("--b", "Content-ID: x", "", "", "--b--"), []string{"x||"}, nil},
		"an empty line":            {kind, lines("--b", "", "", "", "--b--"), []string{"||\r\n"}, nil},
		"nothing between":          {kind, lines("--b", "--b", "", "x", "--b--"), []string{"||", "||x"}, nil},
		"a folded field":           {kind, lines("--b", "Content-Type: a/b;", "\tx=y", "Content-ID:", " <c>", "", "x", "--b--"), []string{"c|a/b|x"}, nil},
		"quoted boundary":          {`Multipart/Related;x="a;b\"";y;start=<a> ; Boundary="b c" `, lines("--b c", "", "x", "--b c--"), []string{"||x"}, nil},
		"longest boundary":         {"multipart/mixed; boundary=" + strings.Repeat("b", 70), lines("--"+strings.Repeat("b", 70), "", "x", "--"+strings.Repeat("b", 70)+"--"), []string{"||x"}, nil},

		"not multipart":          {"application/json", two, nil, ErrNotMultipart},
		"no type":                {"", two, nil, ErrNotMultipart},
		"no boundary":            {"multipart/related; type=x", two, nil, ErrBoundary},
		"empty boundary":         {"multipart/related; boundary=", two, nil, ErrBoundary},
		"boundary with a space":  {`multipart/related; boundary="b "`, two, nil, ErrBoundary},
		"boundary with a letter": {"multipart/related; boundary=ö", two, nil, ErrBoundary},
		"long boundary":          {"multipart/related; boundary=" + strings.Repeat("b", 71), two, nil, ErrBoundary},
		"unclosed quote":         {`multipart/related; boundary="`, two, nil, ErrBoundary},
		"another boundary":       {"multipart/related; boundary=c", two, nil, ErrNoDelimiter},
		"empty":                  {kind, nil, nil, ErrNoDelimiter},
		"closed at once":         {kind, lines("--b--", ""), nil, ErrNoDelimiter},
		"cut in a part":          {kind, two[:len(two)-8], []string{"|application/json|{}"}, ErrNotClosed},
		"no empty line":          {kind, lines("--b", "Content-Type: a/b", "{}", "--b--"), nil, ErrHeader},
		"long header":            {kind, lines("--b", "A: "+strings.Repeat("a", maxHeader), "", "x", "--b--"), nil, ErrHeader},
	} {
		got, err := read(tt.kind, tt.content)
		if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v (-want +got):\n%s", name, err, tt.err, diff)
		}
	}
	many := bytes.Repeat([]byte("--b\r\n\r\nx\r\n"), MaxParts+1)
	if got, err := read(kind, append(many, "--b--"...)); len(got) != MaxParts || !errors.Is(err, ErrTooMany) {
		t.Errorf("%d parts and %v, want %d and %v", len(got), err, MaxParts, ErrTooMany)
	}
}

func TestFind(t *testing.T) {
	content := lines("--b", "Content-Type: application/json; charset=utf-8", "", "{}", "--b", "Content-Id: n1msg", "Content-Type: application/vnd.3gpp.5gnas", "", "1",
		"--b", "Content-ID: <n2msg>", "Content-Type: application/vnd.3gpp.5gnas", "", "2", "--b", "broken")
	for name, want := range map[string]string{
		"application/json": "{}", "APPLICATION/JSON": "{}", "n1msg": "1", "n2msg": "2", "application/vnd.3gpp.5gnas": "1",
	} {
		if got, err := Find([]byte(kind), content, name); string(got) != want || err != nil {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]error{"N1MSG": ErrNotClosed, "<n2msg>": ErrNotClosed} {
		if _, err := Find([]byte(kind), content, name); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
	}
	if _, err := Find([]byte(kind), lines("--b", "", "", "--b--"), "x"); !errors.Is(err, ErrNoPart) {
		t.Errorf("error %v, want %v", err, ErrNoPart)
	}
}

func TestRoot(t *testing.T) {
	for content, want := range map[string]string{
		"{}": "{}", "": "", "--": "--", "-- \r\n": "-- \r\n",
		"--b \r\nContent-Type: a/b\r\n\r\n{}\r\n--b\r\n\r\n\x00": "{}",
		"--b\r\n\r\n{}\r\n--b--":                                 "{}",
		"--b\r\n\r\n{}":                                          "--b\r\n\r\n{}",
	} {
		if got := string(Root([]byte(content))); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

// written returns a content as the runner and the target build it.
func written(parts ...[3]string) (contentType, content string) {
	var texts [][]byte
	for _, p := range parts {
		texts = append(texts, []byte(p[2]))
	}
	boundary := Boundary(1, "name", texts...)
	for i, p := range parts {
		content += Before(boundary, p[0], p[1], i == 0) + p[2]
	}
	return Type(boundary, parts[0][0], parts[0][1]), content + End(boundary)
}

func TestWrite(t *testing.T) {
	parts := [][3]string{{"application/json; charset=utf-8", "<root>", "{}"}, {"a/b", "", ""}, {"a/b", "n1", "\r\n--\x00\r\n"}}
	contentType, content := written(parts...)
	got, err := read(contentType, []byte(content))
	if diff := cmp.Diff([]string{"root|application/json|{}", "|a/b|", "n1|a/b|\r\n--\x00\r\n"}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	boundary, _ := boundaryOf([]byte(contentType))
	if want := `multipart/related; boundary=` + string(boundary) + `; type="application/json"; start="<root>"`; contentType != want {
		t.Errorf("%s, want %s", contentType, want)
	}
}

// TestBoundary: it depends on the seed and the name, and is not in the texts.
func TestBoundary(t *testing.T) {
	a := Boundary(1, "a", []byte("x"))
	if a != Boundary(1, "a", []byte("y")) || a == Boundary(2, "a") || a == Boundary(1, "b") {
		t.Error("the boundary does not depend on the seed and the name alone")
	}
	if b := Boundary(1, "a", nil, []byte("x--"+a)); a == b {
		t.Errorf("%s is in a text", b)
	}
	if !isBoundary([]byte(a)) || !occurs(a, [][]byte{nil, []byte("x" + a + "y")}) || occurs(a, [][]byte{[]byte(a[1:])}) {
		t.Errorf("%q", a)
	}
}

// FuzzRead compares with mime/multipart where both accept a content whose only line ends are CRLF. mime/multipart accepts
// other line ends and contents without a close-delimiter, and checks the fields of headers.
func FuzzRead(f *testing.F) {
	f.Add(kind, []byte("--b\r\nContent-Type: a/b\r\n\r\nx\r\n--b\r\nContent-ID: <x>\r\n\r\n\r\n--b--"))
	f.Add(`multipart/related; boundary="b c"`, []byte("x\r\n--b c \t\r\n\r\n\r\n--b c--\r\n"))
	f.Add(`multipart/related; a="\"`, []byte("--b\r\nA:\r\n b\r\n\r\n--b--"))
	f.Fuzz(func(t *testing.T, contentType string, content []byte) {
		got, err := read(contentType, content)
		if len(got) > MaxParts {
			t.Fatalf("%d parts", len(got))
		}
		if err != nil || bytes.ContainsAny(bytes.ReplaceAll(content, crlf, nil), "\r\n") {
			return
		}
		boundary, _ := boundaryOf([]byte(contentType))
		theirs, ok := standardParts(content, string(boundary), len(got))
		if !ok {
			return
		}
		for i, own := range got {
			if _, body, _ := strings.Cut(own, "|"); !strings.HasSuffix(body, "|"+theirs[i]) {
				t.Fatalf("part %d: %q, mime/multipart has %q", i, own, theirs[i])
			}
		}
	})
}

// standardParts returns the contents of n parts as mime/multipart has them. It returns ok false if mime/multipart does not accept
// them: also after a part that ends with a line which begins like a delimiter, and is none.
func standardParts(content []byte, boundary string, n int) (parts []string, ok bool) {
	r := stdmultipart.NewReader(bytes.NewReader(content), boundary)
	for {
		p, err := r.NextRawPart()
		if err != nil {
			return parts, len(parts) >= n && errors.Is(err, io.EOF)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return nil, false
		}
		parts = append(parts, string(body))
	}
}
