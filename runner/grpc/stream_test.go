package grpc

import (
	"slices"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestCounter: messages count when their last octet arrives, however the response is cut.
func TestCounter(t *testing.T) {
	body := string(framed([]byte("abc"), 0, 0)) + string(framed(nil, 0, 1)) + string(framed(make([]byte, 300), 0, 0))
	ends := map[int]bool{8: true, 13: true, 318: true}
	for size := 1; size <= len(body); size++ {
		var c Counter
		for at := 0; at < len(body); at += size {
			end, want := min(at+size, len(body)), 0
			for i := at + 1; i <= end; i++ {
				if ends[i] {
					want++
				}
			}
			if got := c.Receive([]byte(body[at:end])); got != want {
				t.Errorf("octets %d to %d complete %d messages, want %d", at, end, got, want)
			}
		}
	}
}

// FuzzCounter: a response completes as many messages in one piece as in two, and as many as are cut from it.
func FuzzCounter(f *testing.F) {
	f.Add(framed(framed([]byte("abc"), 0, 0), 0, 0), 3)
	f.Fuzz(func(t *testing.T, body []byte, at int) {
		var whole, pieces Counter
		want := whole.Receive(body)
		at = min(max(at, 0), len(body))
		if got := pieces.Receive(body[:at]) + pieces.Receive(body[at:]); got != want || pieces != whole {
			t.Errorf("%d messages in two pieces, %d in one", got, want)
		}
		n := 0
		for rest := body; len(rest) > 0; n++ {
			rest = append([]byte{0}, rest[1:]...) // cut knows no other flags
			var err error
			if _, rest, _, err = cut(rest); err != nil {
				break
			}
		}
		if n != want {
			t.Errorf("%d messages, and %d are cut", want, n)
		}
	})
}

// TestStream: what is sent of a call with three messages at each instant, "." at its end, and what arrives.
func TestStream(t *testing.T) {
	var body []byte
	for _, m := range []string{"a", "b", "c"} {
		body = append(body, framed([]byte(m), 0, 0)...)
	}
	answers := func(before int, n int64) rv.Wait { return rv.Wait{Before: before, Answers: n} }
	delay := func(before int, d time.Duration) rv.Wait { return rv.Wait{Before: before, Delay: d} }
	for name, tt := range map[string]struct {
		waits []rv.Wait
		// steps are an instant, how many messages arrive at it, and what is sent then.
		steps []streamStep
	}{
		"for an answer each":     {[]rv.Wait{answers(1, 1), answers(2, 1)}, steps(0, 0, "a", 1, 0, "", 2, 1, "b", 3, 1, "c.")},
		"answers at once":        {[]rv.Wait{answers(1, 1), answers(2, 2)}, steps(0, 0, "a", 1, 3, "bc.")},
		"times":                  {[]rv.Wait{delay(1, 10), delay(3, 5)}, steps(0, 0, "a", 9, 0, "", 10, 0, "bc", 14, 0, "", 15, 0, ".")},
		"an answer, then a time": {[]rv.Wait{answers(1, 1), delay(1, 10)}, steps(0, 0, "a", 5, 1, "", 14, 5, "", 15, 0, "bc.")},
		"before the first":       {[]rv.Wait{delay(0, 10)}, steps(0, 0, "", 10, 0, "abc.")},
		"no waits":               {nil, steps(0, 0, ".")},
	} {
		var s Stream
		for range 2 { // it is used again
			s.Begin(body, tt.waits)
			var sent []byte
			for _, step := range tt.steps {
				s.Receive([]byte(strings.Repeat("\x00\x00\x00\x00\x00", step.more)), step.at)
				p, end := s.Next(step.at)
				sent = append(sent, p...)
				if len(tt.waits) > 0 && string(s.Sent(body)) != string(sent) {
					t.Errorf("%s: at %d: sent %q, want %q", name, step.at, s.Sent(body), sent)
				}
				got := strings.ReplaceAll(string(p), "\x00\x00\x00\x00\x01", "")
				if end {
					got += "."
				}
				if got != step.want {
					t.Errorf("%s: at %d: %q, want %q", name, step.at, got, step.want)
				}
			}
		}
	}
}

// TestStreamOfOtherBody: a script can replace the body, which ends without the waits after messages that it does not have.
func TestStreamOfOtherBody(t *testing.T) {
	message := string(framed([]byte("a"), 0, 0))
	for body, want := range map[string][]string{
		"":                             {"."},
		"x":                            {"x."},
		"\x00\xff\xff\xff\xff" + "abc": {"\x00\xff\xff\xff\xff" + "abc."},
		message:                        {message, "."},
		message + "x":                  {message, "x."},
		message + message + "x":        {message, message, "x."},
	} {
		var s Stream
		s.Begin([]byte(body), []rv.Wait{{Before: 1, Delay: 1}, {Before: 2, Delay: 1}})
		var got []string
		for now := range int64(9) {
			p, end := s.Next(now)
			if end {
				got = append(got, string(p)+".")
				break
			}
			got = append(got, string(p))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: sent %q, want %q", body, got, want)
		}
	}
}

type streamStep struct {
	at   int64
	more int
	want string
}

func steps(all ...any) (out []streamStep) {
	for i := 0; i < len(all); i += 3 {
		out = append(out, streamStep{int64(all[i].(int)), all[i+1].(int), all[i+2].(string)})
	}
	return out
}
