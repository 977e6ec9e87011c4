package rules

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// The fields that the engine adds of its own.
var (
	lengthPrefix   = literalPrefix("content-length")
	locationPrefix = literalPrefix("location")
	jsonType       = hpack.AppendLiteral(nil, hpack.Without, contentTypeIndex, "content-type", "application/json")
	problemType    = hpack.AppendLiteral(nil, hpack.Without, contentTypeIndex, "content-type", "application/problem+json")
)

// contentTypeIndex is in the static table (RFC 7541 appendix A).
const contentTypeIndex = 31

// render makes the answer of a response. A value that no field can have makes it fail.
func (e *Engine) render(c *Call, r *rule, resp *response, status int) {
	if resp.script != noScript {
		e.runScript(c, r, resp, status)
		return
	}
	c.head(status)
	c.Block = append(c.Block, resp.block...)
	for i := range resp.fields {
		f := &resp.fields[i]
		c.scratch = e.appendText(c.scratch[:0], &f.value, c)
		if !validValue(c.scratch) {
			e.fail(c, badValue(f.name))
			return
		}
		c.Block = hpack.AppendString(append(c.Block, f.prefix...), c.scratch)
	}
	if needsLocation(c, r, resp, status) {
		c.scratch = appendLocation(c.scratch[:0], c)
		c.Block = hpack.AppendString(append(c.Block, locationPrefix...), c.scratch)
	}
	body := e.renderBody(c, resp, status)
	if tooLong(resp, body) {
		e.fail(c, errTooLong)
		return
	}
	if (resp.body == nil || r.called) && len(body) > 0 && !resp.hasType && !c.called {
		c.Block = append(c.Block, jsonType...)
	}
	c.ready = resp.messages
	c.finish(status, body)
}

func badValue(name string) string {
	return "header " + name + ": the value contains a control character, or begins or ends with a space"
}

const errTooLong = "body: with the values of its placeholders, it is longer than 16 MiB"

// tooLong reports that a body with placeholders is over maxAnswer, and perhaps cut.
func tooLong(resp *response, body []byte) bool {
	return resp.body != nil && resp.constant == nil && len(body) > maxAnswer
}

func (e *Engine) renderBody(c *Call, resp *response, status int) []byte {
	switch {
	case noContent(status):
		return nil
	case resp.body == nil:
		return c.document
	case resp.constant != nil:
		return resp.constant
	}
	c.content = e.appendText(c.content[:0], resp.body, c)
	return c.content
}

func needsLocation(c *Call, r *rule, resp *response, status int) bool {
	if c.called || resp.hasLocation || r.resource == nil || status != http.StatusCreated {
		return false
	}
	return r.resource.action == actionCreate || c.created
}

// appendLocation appends the path of a new resource: the path of the request and the id, unless the path ends with the
// id already.
func appendLocation(dst []byte, c *Call) []byte {
	path := bytes.TrimSuffix(c.path, []byte{'/'})
	dst = append(dst, path...)
	if n := len(path) - len(c.id); n > 0 && path[n-1] == '/' && bytes.Equal(path[n:], c.id) {
		return dst
	}
	return append(append(dst, '/'), c.id...)
}

// head begins the header block.
func (c *Call) head(status int) {
	if c.called {
		c.Block = append(c.Block[:0], callHead...)
		return
	}
	c.Block = appendStatus(c.Block[:0], status)
}

// finish sets the status, the content-length and the body. Answers to HEAD have no body.
func (c *Call) finish(status int, body []byte) {
	c.Status = status
	if !noContent(status) && !c.called {
		var digits [20]byte
		c.Block = hpack.AppendString(append(c.Block, lengthPrefix...), strconv.AppendInt(digits[:0], int64(len(body)), 10))
	}
	if string(c.method) != http.MethodHead {
		c.Body = body
	}
}

func (e *Engine) renderProblem(c *Call, p *problem) {
	c.content = e.appendText(c.content[:0], &p.body, c)
	if c.called {
		c.failProblem(p)
		return
	}
	c.Block = append(appendStatus(c.Block[:0], p.status), problemType...)
	c.finish(p.status, c.content)
}

// fail makes a 500 with the error in the field errorField.
func (e *Engine) fail(c *Call, why string) {
	c.Failed = true
	if c.called {
		c.fail(codeInternal, []byte(why))
		return
	}
	e.renderProblem(c, failed())
	c.Block = hpack.AppendString(append(c.Block, errorPrefix...), visible(why))
}

// errorField is the name of a response field with the error of a rule.
const errorField = "x-h2surge-error"

var errorPrefix = literalPrefix(errorField)

// visible returns a message as the value of a field: printable ASCII, at most 500 bytes.
func visible(s string) []byte {
	const most = 500
	b := []byte(s[:min(len(s), most)])
	for i, c := range b {
		if c < ' ' || c >= 0x7f {
			b[i] = ' '
		}
	}
	return bytes.TrimSpace(b)
}

func appendStatus(dst []byte, status int) []byte {
	// RFC 7541 appendix A: :status is at 8 to 14.
	switch status {
	case 200:
		return append(dst, 0x80|8)
	case 204:
		return append(dst, 0x80|9)
	case 206:
		return append(dst, 0x80|10)
	case 304:
		return append(dst, 0x80|11)
	case 400:
		return append(dst, 0x80|12)
	case 404:
		return append(dst, 0x80|13)
	case 500:
		return append(dst, 0x80|14)
	}
	dst = append(dst, 8, 3) // a literal that is not indexed, its name that of 8, its value of length 3
	return strconv.AppendInt(dst, int64(status), 10)
}

// appendText fills in a text. It stops growing at maxAnswer.
func (e *Engine) appendText(dst []byte, t *text, c *Call) []byte {
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.kind == literalPiece {
			dst = append(dst, p.literal...)
			continue
		}
		if len(dst) > maxAnswer {
			break
		}
		at := len(dst)
		dst = e.appendPlaceholder(dst, p, c)
		for i := range p.filters {
			dst = p.filters[i].apply(dst, at)
		}
		if p.place == quoted {
			dst = escapeFrom(dst, at)
		}
	}
	return dst
}

func (e *Engine) appendPlaceholder(dst []byte, p *piece, c *Call) []byte {
	switch p.kind {
	case pathParam:
		return append(dst, c.params[p.a]...)
	case requestHeader:
		value, _ := c.header(p.literal, 0)
		return append(dst, value...)
	case requestMethod:
		return append(dst, c.method...)
	case requestPath:
		return append(dst, c.path...)
	case requestBody:
		return append(dst, c.body...)
	case queryParam:
		value, _ := c.queryValue(p.literal, 0)
		return append(dst, value...)
	case jsonValue:
		doc, _ := c.jsonBody()
		return appendValue(dst, p, doc)
	case stateValue:
		return appendValue(dst, p, c.document)
	case eachID:
		return append(dst, c.eachID...)
	case eachDocument:
		return append(dst, c.each...)
	case eachValue:
		return appendValue(dst, p, c.each)
	case uuidPiece:
		return append(dst, e.uuid(c)...)
	case counterPiece:
		return strconv.AppendUint(dst, c.counter, 10)
	case randomHex:
		return e.appendRandomHex(dst, int(p.a))
	case randomInt:
		return strconv.AppendInt(dst, p.a+e.rng.Int64N(p.b-p.a+1), 10)
	case timeRFC3339:
		return c.now.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
	case timeIMF:
		return c.now.UTC().AppendFormat(dst, http.TimeFormat)
	case timeEpochMs:
		return strconv.AppendInt(dst, c.now.UnixMilli(), 10)
	}
	return e.appendState(dst, p, c)
}

func (e *Engine) appendState(dst []byte, p *piece, c *Call) []byte {
	switch p.kind {
	case stateID:
		return append(dst, c.id...)
	case stateCount:
		n := 0
		if c.Rule >= 0 {
			n = e.store.Collection(e.set.collections[c.Rule]).Len()
		}
		return strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, c.document...) // one document, or the array of a list
}

// appendValue appends what a pointer finds in doc: as it stands where a JSON value is wanted, with
// null for nothing, and as text elsewhere.
func appendValue(dst []byte, p *piece, doc []byte) []byte {
	value, ok := p.from.Raw(doc)
	switch {
	case p.place != bare || p.filters != nil: // filters are for text
		return append(dst, jsontext.Text(nil, value)...)
	case !ok:
		return append(dst, "null"...)
	}
	return append(dst, value...)
}

func (e *Engine) appendRandomHex(dst []byte, digits int) []byte {
	for digits > 0 {
		n := min(digits, 16)
		dst = octet.AppendHex(dst, e.rng.Uint64(), n)
		digits -= n
	}
	return dst
}

// escapeFrom escapes what dst has from at on, as a JSON string needs it.
func escapeFrom(dst []byte, at int) []byte {
	special := func(c byte) bool { return c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf }
	if !slices.ContainsFunc(dst[at:], special) {
		return dst
	}
	return jsontext.AppendEscaped(dst[:at], bytes.Clone(dst[at:]))
}
