package mock

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// Recorded is a line of Options.Record: a request as it arrived.
type Recorded struct {
	// Connection counts the connections from 1; Stream is the HTTP/2 stream, or the number of the request on its
	// connection of HTTP/1.1, from 1.
	Connection uint64 `json:"connection"`
	Stream     uint32 `json:"stream"`
	Method     string `json:"method"`
	// Path has the query.
	Path string `json:"path"`
	// Headers are pairs of name and value in the order in which they came, :scheme and
	// :authority among them. In HTTP/1.1, they are in the order of their names, and :authority is the field Host.
	Headers [][2]string `json:"headers"`
	// Body is the content if it is UTF-8, BodyBase64 otherwise. Both are cut at maxRecordedBody bytes. BodyBytes is the
	// length before the cut, at most 1 MiB and one byte.
	Body       string `json:"body,omitempty"`
	BodyBase64 string `json:"bodyBase64,omitempty"`
	BodyBytes  int    `json:"bodyBytes"`
	// Rule is the name of the rule that matched the request, if any.
	Rule string `json:"rule,omitempty"`
	// DelayMicroseconds is how long the target delays the response: the delay of the rule, the latency and the rest of
	// a stall. It is zero if the request gets no response.
	DelayMicroseconds int64 `json:"delayMicroseconds,omitempty"`
}

// maxRecordedBody bounds the body of a Recorded, in bytes.
const maxRecordedBody = 64 << 10

// recorder writes Recorded. A nil one does nothing.
type recorder struct {
	out *bufio.Writer
	enc *json.Encoder
	err error
}

func newRecorder(w io.Writer) *recorder {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return &recorder{out: out, enc: enc}
}

// write records a request whose response is held back for a time.
func (r *recorder) write(c *session, x *exchange, held time.Duration) {
	if r == nil || r.err != nil {
		return
	}
	call := x.call
	line := Recorded{
		Connection: c.number, Stream: x.id,
		Method: string(call.Method()), Path: string(call.Target()),
		Headers: [][2]string{}, BodyBytes: len(call.Content()), DelayMicroseconds: held.Microseconds(),
	}
	call.EachField(func(name, value []byte) {
		line.Headers = append(line.Headers, [2]string{string(name), string(value)})
	})
	body := call.Content()
	body = body[:min(len(body), maxRecordedBody)]
	if utf8.Valid(body) {
		line.Body = string(body)
	} else {
		line.BodyBase64 = base64.StdEncoding.EncodeToString(body)
	}
	if c.srv.engine != nil && call.Rule >= 0 {
		line.Rule = c.srv.opts.Rules.Names()[call.Rule]
	}
	r.err = r.enc.Encode(line)
}

// flush writes the buffered lines.
func (r *recorder) flush() {
	if r != nil && r.err == nil && r.out.Buffered() > 0 {
		r.err = r.out.Flush()
	}
}

// close returns the error that ended the record.
func (r *recorder) close() error {
	if r == nil || r.err == nil {
		return nil
	}
	return fmt.Errorf("target: record: %w", r.err)
}
