package h1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/runner/protocol"
)

// reading is what a reader makes of a response to one request.
type reading struct {
	status int
	fields string // sorted lines, but for those that frame the message
	body   string
	close  bool
	more   bool // octets were left
	err    error
}

// readOurs gives the pieces and then the end to a session.
func readOurs(t testing.TB, pieces []string, head bool) (r reading) {
	c := converse(t, Config{})
	want := protocol.WantHeaders | protocol.WantBody
	if head {
		want |= protocol.HeadRequest
	}
	c.request(1, "GET /", want)
	c.send()
	for _, p := range pieces {
		if r.err = c.receive(p); r.err != nil {
			break
		}
	}
	r.close = c.Draining()
	if errors.Is(r.err, errUnsolicited) && c.InFlight() == 0 {
		r.more, r.err = true, nil
	} else if r.err == nil {
		r.err = c.Ended()
	}
	var fields []string
	for _, line := range c.Take() {
		switch kind, text, _ := strings.Cut(line[2:], " "); {
		case kind == "status":
			fmt.Sscan(text, &r.status)
		case kind == "data":
			r.body = text
		case strings.HasSuffix(kind, ":"):
			fields = append(fields, line[2:])
		}
	}
	r.fields = sortFields(fields)
	c.Close()
	return r
}

// readTheirs is the same by net/http.
func readTheirs(in string, head bool) (r reading) {
	method := "GET"
	if head {
		method = "HEAD"
	}
	br := bufio.NewReader(strings.NewReader(in))
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			return reading{err: err}
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var fields []string
		for name, values := range resp.Header {
			for _, v := range values {
				fields = append(fields, strings.ToLower(name)+": "+v)
			}
		}
		_, readErr := br.ReadByte()
		return reading{resp.StatusCode, sortFields(fields), string(body), resp.Close, readErr == nil, err}
	}
}

func sortFields(fields []string) string {
	var out []string
	for _, f := range fields {
		switch name, _, _ := strings.Cut(f, ": "); name {
		case "content-length", "transfer-encoding", "connection":
		default:
			out = append(out, f)
		}
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// stricter are the rules in which net/http is more lenient: it takes names with
// spaces, and lines that begin with white space before the first field; it
// keeps CR and NUL in values, prefers chunked to a length, ignores a coding in
// HTTP/1.0, and leaves 101 and any number of 1xx to its transport.
var stricter = map[error]bool{
	errSpaceColon: true, errFold: true, errLine: true, errCodingLength: true, errCoding10: true, errSwitch: true, errInterim: true,
}

// lenient are more such: folded lines whatever they become, any major version,
// any number of spaces before the status, and status 0xx.
var lenient = regexp.MustCompile("\n[ \t]|HTTP/[^1]|HTTP/1.[01] [ 0]")

var (
	blanks = regexp.MustCompile("[ \t]+")
	// blankExtension is a blank before the extension of a chunk, which only net/http refuses (RFC 9112 7.1.1, BWS).
	blankExtension = regexp.MustCompile("[0-9a-fA-F][ \t]+;")
	lastSpace      = regexp.MustCompile("(?m) $")
)

// oneSpace makes one space of white space, and none of that at the end of a line.
func oneSpace(s string) string {
	return lastSpace.ReplaceAllString(blanks.ReplaceAllString(s, " "), "")
}

// compare tells how the two readings differ where they must not.
func compare(in string, ours, theirs reading) string {
	switch {
	case ours.err != nil && (theirs.err != nil || stricter[ours.err] || lenient.MatchString(in)):
		return ""
	case ours.err != nil:
		return "only we refuse it"
	case theirs.err != nil && blankExtension.MatchString(in):
		return ""
	case theirs.err != nil:
		return "only net/http refuses it"
	}
	// Content up to the end closes, which net/http does not call so; octets
	// behind a response end the session.
	if ours.close != theirs.close && !ours.more && (ours.close != true || ours.body == "" && theirs.body != "") {
		return "persistence differs"
	}
	ours.close = theirs.close
	if lenient.MatchString(in) { // net/http makes one space of each fold, and of the white space around it
		ours.fields, theirs.fields = oneSpace(ours.fields), oneSpace(theirs.fields)
	}
	if ours != theirs {
		return "the readings differ"
	}
	return ""
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// randomResponse is mostly right, and seldom wholly so.
func randomResponse(r *rand.Rand) string {
	var b strings.Builder
	for r.IntN(8) == 0 {
		b.WriteString("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
	}
	b.WriteString(pick(r, "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"))
	b.WriteString(pick(r, " 200 OK", " 200 OK", " 200", " 404 ", " 204 x", " 304 x", " 500 a b\tc"))
	b.WriteString("\r\n")
	for range r.IntN(5) {
		b.WriteString(pick(r, "server: x", "Date:  y \t", "x-a:", "X-A: b", "ETag: \"\xe9\"", "a_b.c~1:d:e") + "\r\n")
	}
	b.WriteString(pick(r, "", "", "", "", "Connection: close\r\n", "connection: Keep-Alive\r\n", "Connection: a, close\r\n"))
	body := strings.Repeat("b", r.IntN(30))
	switch r.IntN(4) {
	case 0:
		b.WriteString("\r\n" + body)
	case 1:
		b.WriteString("Transfer-Encoding: " + pick(r, "chunked", "chunked", "Chunked", "gzip", "chunked, chunked") + "\r\n\r\n")
		for range r.IntN(4) {
			k := 1 + r.IntN(20)
			fmt.Fprintf(&b, pick(r, "%x", "%X", "0%x", "%x;a=b")+"\r\n%s\r\n", k, strings.Repeat("c", k))
		}
		b.WriteString("0\r\n" + pick(r, "", "", "t: x\r\n") + "\r\n")
	default:
		length := fmt.Sprintf(pick(r, "Content-Length", "content-length")+": %d\r\n", len(body))
		b.WriteString(length + pick(r, "", "", "", length) + "\r\n" + body)
	}
	return b.String()
}

// spoil changes an octet, takes some away or puts some in.
func spoil(r *rand.Rand, s string) string {
	i := r.IntN(len(s))
	switch r.IntN(4) {
	case 0:
		return s[:i] + pick(r, "\r", "\n", "\x00", " ", ":", "\t", "0", "5", "\x80", ",", ";", "(") + s[i+1:]
	case 1:
		return s[:i] + s[i+1:]
	case 2:
		return s[:i] + pick(r, "\r\n", " ", "\r", "\n", "1", "a: b\r\n", "content-length: 3\r\n") + s[i:]
	}
	return s[:i]
}

// TestAgainstNetHTTP compares the session with net/http's reader on random
// responses in random pieces.
func TestAgainstNetHTTP(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	completed, refused := 0, 0
	for range 30000 {
		in := randomResponse(r)
		for range r.IntN(3) {
			if len(in) > 0 {
				in = spoil(r, in)
			}
		}
		head := r.IntN(6) == 0
		theirs := readTheirs(in, head)
		for _, pieces := range [][]string{{in}, strings.Split(in, ""), cut(r, in)} {
			ours := readOurs(t, pieces, head)
			if why := compare(in, ours, theirs); why != "" {
				t.Fatalf("%s: %q (HEAD: %v)\nours:   %+v\ntheirs: %+v", why, in, head, ours, theirs)
			}
			if ours.err == nil {
				completed++
			} else {
				refused++
			}
		}
	}
	if completed < 10000 || refused < 10000 {
		t.Errorf("%d completed and %d refused: the generator is lopsided", completed, refused)
	}
}

// TestRecall: a reader that has seen another head reads a head as a fresh one
// does, whether or not the two have most of their octets in common.
func TestRecall(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	recalled := 0
	for range 5000 {
		var seen reader
		in := randomResponse(r)
		for range 8 {
			n, err := seen.parse([]byte(in), false)
			var fresh head
			wantN, wantErr := parseHead([]byte(in), &fresh)
			if n != wantN || err != wantErr || n > 0 && seen.head != fresh {
				t.Fatalf("%q: %d, %v, %+v; want %d, %v, %+v; remembered: %q", in, n, err, seen.head, wantN, wantErr, fresh, seen.memo)
			}
			if n > 0 {
				again := reader{memo: bytes.Clone(seen.memo), known: seen.known}
				changed := in
				for range 1 + r.IntN(3) {
					i := r.IntN(n)
					changed = changed[:i] + pick(r, "x", "7", "\r", "\n", ":", " ", "\x00", string(in[i])) + changed[i+1:]
				}
				if again.recall([]byte(changed)) > 0 {
					recalled++
				}
				in = changed
			} else if in = spoil(r, randomResponse(r)); len(in) == 0 {
				break
			}
		}
	}
	if recalled < 1000 {
		t.Errorf("only %d heads were recalled", recalled)
	}
}

// beyondNetHTTP tells of input for which net/http has rules of its own: lists of
// lengths, control characters, which a recipient may retain (RFC 9110 5.5), and
// what exceeds its bounds.
func beyondNetHTTP(in []byte) bool {
	controls := bytes.ContainsFunc(in, func(r rune) bool { return r < ' ' && r != '\r' && r != '\n' && r != '\t' || r == 0x7f })
	return controls || bytes.IndexByte(in, ',') >= 0 || len(in) > defaultMaxHeaderBytes/2
}

// FuzzResponse reads a response in one piece and in two against net/http.
func FuzzResponse(f *testing.F) {
	f.Fuzz(func(t *testing.T, in []byte, at uint16, head bool) {
		if beyondNetHTTP(in) {
			return
		}
		s := string(in)
		k := min(int(at), len(s))
		whole, parts := readOurs(t, []string{s}, head), readOurs(t, []string{s[:k], s[k:]}, head)
		if (whole.err == nil) != (parts.err == nil) || whole.err == nil && whole != parts {
			t.Fatalf("in one piece %+v, in two %+v", whole, parts)
		}
		if why := compare(s, whole, readTheirs(s, head)); why != "" {
			t.Fatalf("%s: ours %+v, theirs %+v", why, whole, readTheirs(s, head))
		}
	})
}
