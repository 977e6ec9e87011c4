package conformance

import (
	"bytes"
	"compress/gzip"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// echo is the service of the servers of these tests.
const echo = `syntax = "proto3";
package test;
message Text { string text = 1; }
service Echo {
  rpc Unary(Text) returns (Text);
  rpc Download(Text) returns (stream Text);
  rpc Upload(stream Text) returns (Text);
  rpc Both(stream Text) returns (stream Text);
  rpc Missing(Text) returns (Text);
}`

// newCalls is newPlan with calls of a method of echo, whose messages are texts. A check reads the first text of the response.
func newCalls(address string, requests int64, method string, texts ...string) *rv.Plan {
	p := newPlan(address, rv.ProtocolH2C, requests)
	p.Targets[0].Protos = []rv.Content{{Text: echo}}
	s := &p.Chains[0].Steps[0]
	s.Method, s.Path = http.MethodPost, text("/test.Echo/"+method)
	s.GRPC = &rv.GRPC{Service: "test.Echo", Method: method}
	for _, t := range texts {
		s.GRPC.Messages = append(s.GRPC.Messages, text(`{"text":"`+t+`"}`))
	}
	pointer := "/text"
	if method == "Download" || method == "Both" {
		pointer = "/0/text"
	}
	s.Expect.Checks = []rv.Check{{Name: "text", Source: &rv.Source{Kind: rv.SourceJSONPointer, Pointer: pointer},
		Match: &rv.Match{Op: rv.MatchEquals, Want: text("ok")}}}
	return p
}

// okMessage is {"text":"ok"} behind its prefix.
const okMessage = "\x00\x00\x00\x00\x04\x0a\x02ok"

// grpcRow is one thing that a server does with the first call.
type grpcRow struct {
	h2row
	// failedBy is the name of the check that the call fails, if it does.
	failedBy string
}

// grpcAnswer is a row whose response has these octets and these trailers.
func grpcAnswer(name, failedBy, octets string, trailers ...string) grpcRow {
	row := grpcRow{failedBy: failedBy, h2row: script(name, tolerated, func(c *h2conn, id uint32) {
		c.headers(id, false, grpcHeader...)
		c.data(id, len(trailers) == 0, []byte(octets))
		if len(trailers) > 0 {
			c.headers(id, true, trailers...)
		}
	})}
	return row.judged()
}

// grpcCompressed is a row whose response has grpc-encoding.
func grpcCompressed(name, failedBy, encoding, octets string) grpcRow {
	row := grpcRow{failedBy: failedBy, h2row: script(name, tolerated, func(c *h2conn, id uint32) {
		c.headers(id, false, append(grpcHeader[:len(grpcHeader):len(grpcHeader)], "grpc-encoding", encoding)...)
		c.data(id, false, []byte(octets))
		c.headers(id, true, "grpc-status", "0")
	})}
	return row.judged()
}

// gzipMessage is a compressed message behind its prefix.
func gzipMessage(octets string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(octets))
	_ = w.Close()
	return "\x01" + string(u32(uint32(b.Len()))) + b.String()
}

// trailersOnly is a row whose response is one header block.
func trailersOnly(name, failedBy string, fields ...string) grpcRow {
	row := grpcRow{failedBy: failedBy, h2row: answer(name, tolerated, append(grpcHeader[:len(grpcHeader):len(grpcHeader)], fields...)...)}
	return row.judged()
}

// unchecked removes the checks.
func unchecked(p *rv.Plan) { p.Chains[0].Steps[0].Expect.Checks = nil }

// expected makes only the first call fail with RESOURCE_EXHAUSTED, which is a success if its failure contains a text.
func expected(failure string) func(p *rv.Plan) {
	return func(p *rv.Plan) {
		e := &p.Chains[0].Steps[0].Expect
		e.Checks = []rv.Check{
			{Name: "code", Source: &rv.Source{Kind: rv.SourceHeader, Name: "grpc-status"}, Match: &rv.Match{Op: rv.MatchExists, Want: text("true")}},
			{Name: "body", Source: &rv.Source{Kind: rv.SourceBody}, Match: &rv.Match{Op: rv.MatchMatches, Pattern: regexp.QuoteMeta(failure) + "|ok"}},
		}
	}
}

func (row grpcRow) with(plan func(p *rv.Plan)) grpcRow {
	row.plan = plan
	return row
}

func (row grpcRow) judged() grpcRow {
	if row.failedBy != "" {
		row.want.failedChecks = 1
	}
	return row
}

var grpcHeader = []string{":status", "200", "content-type", "application/grpc"}

// TestHostileCalls: what servers do with calls of gRPC.
func TestHostileCalls(t *testing.T) {
	upload := func(p *rv.Plan) {
		p.Chains[0].Steps[0] = newCalls("", 0, "Upload", strings.Repeat("u", 60_000)).Chains[0].Steps[0]
	}
	small := func(p *rv.Plan) { p.Chains[0].Steps[0].MaxBody = 100 }
	rows := []grpcRow{
		grpcAnswer("Responses one octet at a time, in frames of one octet", "", "", "grpc-status", "0"),
		trailersOnly("Responses Trailers-Only with a code", "NOT_FOUND", "grpc-status", "5", "grpc-message", "no%20such"),
		trailersOnly("Responses Trailers-Only with OK, and so no message", rv.CheckMessage, "grpc-status", "0"),
		trailersOnly("Responses Trailers-Only without a status", "UNKNOWN"),
		trailersOnly("Responses a status above 16", "UNKNOWN", "grpc-status", "17"),
		trailersOnly("Responses a status that is not a number", "UNKNOWN", "grpc-status", "OK"),
		trailersOnly("Responses to a step without checks: Trailers-Only with a code", "ABORTED", "grpc-status", "10").with(unchecked),
		trailersOnly("Responses to a step without checks: Trailers-Only without a status", "UNKNOWN").with(unchecked),
		grpcAnswer("Responses to a step without checks: a message, and trailers with a code", "INTERNAL", okMessage, "grpc-status", "13").with(unchecked),
		grpcAnswer("Responses to a step without checks: a message", "", okMessage, "x", "y", "grpc-status", "0").with(unchecked),
		grpcAnswer("Responses a message without trailers", "UNKNOWN", okMessage),
		grpcAnswer("Responses a message, and trailers with a code", "RESOURCE_EXHAUSTED", okMessage, "grpc-status", "8"),
		grpcAnswer("Responses a message, and trailers without a status", "UNKNOWN", okMessage, "x", "y"),
		grpcAnswer("Responses unknown fields in a message", "", "\x00\x00\x00\x00\x08\x0a\x02ok\x7a\x02xx", "grpc-status", "0"),
		grpcAnswer("Length-Prefixed-Message the response ends in a prefix", rv.CheckMessage, okMessage[:4], "grpc-status", "0"),
		grpcAnswer("Length-Prefixed-Message the response ends in a message", rv.CheckMessage, okMessage[:7], "grpc-status", "0"),
		grpcAnswer("Length-Prefixed-Message a length of 2^32-1", rv.CheckMessage, "\x00\xff\xff\xff\xffx", "grpc-status", "0"),
		grpcAnswer("Length-Prefixed-Message the flag of compression without grpc-encoding", rv.CheckMessage, "\x01"+okMessage[1:], "grpc-status", "0"),
		grpcCompressed("Length-Prefixed-Message a message compressed with gzip", "", "gzip", gzipMessage("\x0a\x02ok")),
		grpcCompressed("Length-Prefixed-Message a message that is not compressed, with grpc-encoding", "", "gzip", okMessage),
		grpcCompressed("Length-Prefixed-Message a message compressed with another coding", rv.CheckMessage, "snappy", gzipMessage("\x0a\x02ok")),
		grpcCompressed("Length-Prefixed-Message the flag of compression, and no gzip", rv.CheckMessage, "gzip", "\x01"+okMessage[1:]),
		grpcCompressed("Length-Prefixed-Message a small message that is 10 MB decompressed", rv.CheckBody, "gzip", gzipMessage(strings.Repeat("\x00", 10<<20))),
		grpcAnswer("Length-Prefixed-Message a flag above 1", rv.CheckMessage, "\x02"+okMessage[1:], "grpc-status", "0"),
		grpcAnswer("Length-Prefixed-Message two messages of a unary call", rv.CheckMessage, okMessage+okMessage, "grpc-status", "0"),
		grpcAnswer("Length-Prefixed-Message octets that are not a message of the method", rv.CheckMessage, "\x00\x00\x00\x00\x02\x0a\x09", "grpc-status", "0"),
		grpcAnswer("Length-Prefixed-Message a message above maxBodyBytes", rv.CheckBody, "\x00\x00\x00\x00\x7f\x0a\x7d"+strings.Repeat("x", 125), "grpc-status", "0").with(small),
		trailersOnly("Responses grpc-status-details-bin that is not base64", "", "grpc-status", "8", "grpc-status-details-bin", "#").with(expected(`"code":8`)),
		trailersOnly("Responses grpc-status-details-bin that is cut", "", "grpc-status", "8", "grpc-status-details-bin", "GgP/").with(expected(`"details":[]`)),
		{failedBy: rv.CheckStatus, h2row: answer("Responses status 503 of a proxy", outcome{failedChecks: 1}, ":status", "503", "content-type", "text/html")},
		{failedBy: "UNKNOWN", h2row: answer("Responses status 200 of a server of pages", outcome{failedChecks: 1}, ":status", "200", "content-type", "text/html")},
		{h2row: script("Errors RST_STREAM CANCEL after a message", outcome{reset: 1}, func(c *h2conn, id uint32) {
			c.headers(id, false, grpcHeader...)
			c.data(id, false, []byte(okMessage))
			_ = c.fr.WriteRSTStream(id, http2.ErrCodeCancel)
		})},
		{h2row: script("Errors RST_STREAM ENHANCE_YOUR_CALM", outcome{reset: 1}, func(c *h2conn, id uint32) { _ = c.fr.WriteRSTStream(id, enhanceYourCalm) })},
		{h2row: script("Errors RST_STREAM REFUSED_STREAM", outcome{retried: 1}, func(c *h2conn, id uint32) {
			c.closed()
			_ = c.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
		})},
		{h2row: h2row{
			name: "Requests a message, and no end before the deadline", plan: shortTimeout,
			want: outcome{place: theStream, codes: []http2.ErrCode{http2.ErrCodeCancel}, timedOut: 1},
			commit: func(c *h2conn, id uint32) {
				c.headers(id, false, grpcHeader...)
				c.data(id, false, []byte(okMessage))
				for !c.stopped(id) {
					time.Sleep(time.Millisecond)
				}
			},
		}},
		{h2row: script("GOAWAY in a stream that the server completes", outcome{abandoned: true}, func(c *h2conn, id uint32) {
			c.headers(id, false, grpcHeader...)
			c.data(id, false, []byte(okMessage[:3]))
			_ = c.fr.WriteGoAway(id, 0, nil)
			c.data(id, false, []byte(okMessage[3:]))
			c.headers(id, true, "grpc-status", "0")
		})},
		{h2row: script("GOAWAY in a stream, and closes", outcome{lost: 1, abandoned: true}, func(c *h2conn, id uint32) {
			c.headers(id, false, grpcHeader...)
			c.data(id, false, []byte(okMessage))
			_ = c.fr.WriteGoAway(id, 0, nil)
			_ = c.Close()
		})},
		{h2row: script("GOAWAY before the call", outcome{retried: 1, abandoned: true}, func(c *h2conn, _ uint32) { _ = c.fr.WriteGoAway(0, 0, nil) })},
		{failedBy: "RESOURCE_EXHAUSTED", h2row: h2row{
			name: "Responses a code while the request waits for answers", want: outcome{failedChecks: 1}, plan: func(p *rv.Plan) {
				s := &p.Chains[0].Steps[0]
				*s = newCalls("", 0, "Both", "x", "y").Chains[0].Steps[0]
				s.GRPC.Waits = []rv.Wait{{Before: 1, Answers: 9}}
			},
			commit: func(c *h2conn, id uint32) {
				c.closed()
				c.headers(id, true, append(grpcHeader[:len(grpcHeader):len(grpcHeader)], "grpc-status", "8")...)
			},
		}},
		{failedBy: "RESOURCE_EXHAUSTED", h2row: h2row{
			name: "Responses a code before the request ends, then RST_STREAM NO_ERROR", plan: upload, want: outcome{failedChecks: 1},
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 100}},
			commit: func(c *h2conn, id uint32) {
				c.closed()
				c.headers(id, true, append(grpcHeader[:len(grpcHeader):len(grpcHeader)], "grpc-status", "8")...)
				_ = c.fr.WriteRSTStream(id, http2.ErrCodeNo)
				more := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}
				c.expect(more)
				_ = c.fr.WriteSettings(more)
				c.grant(0, 1<<24)
			},
		}},
	}
	rows[0].commit = func(c *h2conn, id uint32) {
		c.headers(id, false, grpcHeader...)
		for _, octet := range []byte(okMessage) {
			c.data(id, false, []byte{octet})
		}
		c.headers(id, true, "grpc-status", "0")
	}
	for _, row := range rows {
		want := row.want.String()
		if row.failedBy != "" {
			want += " as " + row.failedBy
		}
		list(t, grpcRows, row.name, want)
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.run(t)
		})
	}
}

func (row *grpcRow) run(t *testing.T) {
	p := newH2Peer(t, func(c *h2conn) { row.script(c) })
	p.calls = true
	p.start()
	plan := newCalls(p.address, requestsPerRow, "Unary", "x")
	if row.plan != nil {
		row.plan(plan)
	}
	s := mustExecute(t, plan)
	p.await()
	row.want.check(t, &s.Counters)
	row.want.checkPeer(t, p)
	want := map[string]int64{}
	if row.failedBy != "" {
		want[row.failedBy] = 1
	}
	if got := s.Steps[0].FailedBy; !maps.Equal(got, want) {
		t.Errorf("failed by %v, want %v", got, want)
	}
}

// TestCallWaits: a message is sent when what comes before it is over: so many answers, or a time.
func TestCallWaits(t *testing.T) {
	listTest(t, grpcRows, "Requests messages that wait for answers and for times", "sends none of them early")
	const size = 8 // of a message with its prefix
	p := newH2Peer(t, func(c *h2conn) {
		c.greet()
		for r := range c.requests {
			c.headers(r.id, false, grpcHeader...)
			for i, answers := range []int{1, 2, 0} {
				want := int64(size * (i + 1))
				for c.received(r.id) < want && !c.stopped(r.id) {
					time.Sleep(time.Millisecond)
				}
				if got := c.received(r.id); got != want {
					c.fault("%d octets of stream %d came before %d answers, want %d", got, r.id, answers, want)
				}
				for range answers {
					c.data(r.id, false, []byte(okMessage))
				}
			}
			c.closed()
			c.headers(r.id, true, "grpc-status", "0")
		}
	})
	p.start()
	plan := newCalls(p.address, requestsPerRow, "Both", "x", "y", "z")
	plan.Chains[0].Steps[0].GRPC.Waits = []rv.Wait{{Before: 1, Answers: 1}, {Before: 2, Answers: 2}, {Before: 2, Delay: 5 * time.Millisecond}, {Before: 3, Delay: time.Millisecond}}
	s := mustExecute(t, plan)
	p.await()
	tolerated.check(t, &s.Counters)
	tolerated.checkPeer(t, p)
	if k := &s.Steps[0]; k.FirstMessage.Count != requestsPerRow || k.BetweenMessages.Count != 2*requestsPerRow || k.LastMessage.Count != requestsPerRow {
		t.Errorf("times of %d first messages, %d others, %d last", k.FirstMessage.Count, k.BetweenMessages.Count, k.LastMessage.Count)
	}
}
