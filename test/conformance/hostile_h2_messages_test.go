package conformance

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// answer is a row whose response is one header block that ends the stream.
func answer(name string, want outcome, pairs ...string) h2row {
	return h2row{name: name, want: want, commit: func(c *h2conn, id uint32) { c.headers(id, true, pairs...) }}
}

// malformed is a response that RFC 9113 8.1.1 calls so: a stream error of type PROTOCOL_ERROR.
func malformed(name string, pairs ...string) h2row {
	return answer(name, reset(protocolError), pairs...)
}

func script(name string, want outcome, commit func(c *h2conn, id uint32)) h2row {
	return h2row{name: name, want: want, commit: commit}
}

func TestHostileMessages(t *testing.T) {
	broken := reset(protocolError)
	runH2Rows(t, []h2row{
		// 8.1
		script("8.1 interim response that ends the stream", broken, func(c *h2conn, id uint32) { c.headers(id, true, ":status", "103") }),
		script("8.1 interim responses before the final one", tolerated, func(c *h2conn, id uint32) {
			for range 3 {
				c.headers(id, false, ":status", "103", "link", "</style.css>")
			}
			c.headers(id, false, ":status", "100")
			c.ok(id)
		}),
		script("8.1 DATA between interim and final response", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "103")
			c.data(id, false, []byte("x"))
		}),
		script("8.1 two final responses", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.headers(id, false, ":status", "200")
		}),
		script("8.1 trailers that do not end the stream", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.headers(id, false, "x", "y")
		}),
		script("8.1 pseudo-header field in trailers", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.headers(id, true, ":status", "200")
		}),
		script("8.1 trailers", tolerated, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.data(id, false, []byte("body"))
			c.headers(id, true, "grpc-status", "0")
		}),
		script("8.1 trailers without content", tolerated, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.headers(id, true, "x", "y")
		}),
		script("8.1 HEADERS after the end of the stream", tolerated, func(c *h2conn, id uint32) {
			c.ok(id)
			c.headers(id, true, ":status", "500")
		}),
		script("8.1 DATA after the end of the stream", tolerated, func(c *h2conn, id uint32) {
			c.ok(id)
			c.data(id, true, []byte("more"))
		}),
		script("8.1 RST_STREAM after the end of the stream", tolerated, func(c *h2conn, id uint32) {
			c.ok(id)
			_ = c.fr.WriteRSTStream(id, 0)
		}),
		script("8.1 RST_STREAM within the response", outcome{reset: 1}, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.data(id, false, []byte("half"))
			_ = c.fr.WriteRSTStream(id, http2.ErrCodeInternal)
		}),
		script("5.1 frames after the server's own RST_STREAM", outcome{reset: 1}, func(c *h2conn, id uint32) {
			_ = c.fr.WriteRSTStream(id, http2.ErrCodeCancel)
			c.ok(id)
		}),
		answer("RFC 9110 15 status 600", outcome{failedChecks: 1}, ":status", "600"),
		answer("RFC 9110 15 status 999", outcome{failedChecks: 1}, ":status", "999"),
		malformed("RFC 9110 15 status of four digits", ":status", "1000"),
		malformed("RFC 9110 15 status below 100", ":status", "099"),

		// 8.1.1
		script("8.1.1 less content than content-length", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200", "content-length", "5")
			c.data(id, true, []byte("four"))
		}),
		script("8.1.1 more content than content-length", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200", "content-length", "3")
			c.data(id, true, []byte("four"))
		}),
		script("8.1.1 content-length and trailers, cut", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200", "content-length", "5")
			c.data(id, false, []byte("four"))
			c.headers(id, true, "x", "y")
		}),
		malformed("8.1.1 content-length without content", ":status", "200", "content-length", "5"),
		malformed("8.1.1 content-length twice, not the same", ":status", "200", "content-length", "0", "content-length", "1"),
		malformed("8.1.1 content-length that is not a number", ":status", "200", "content-length", "0x0"),
		malformed("8.1.1 negative content-length", ":status", "200", "content-length", "-1"),
		malformed("8.1.1 empty content-length", ":status", "200", "content-length", ""),
		malformed("8.1.1 content-length above 2^63", ":status", "200", "content-length", "99999999999999999999"),
		answer("8.1.1 content-length twice, the same", tolerated, ":status", "200", "content-length", "0", "content-length", "0"),
		answer("8.1.1 304 with content-length", tolerated, ":status", "304", "content-length", "5"),
		script("RFC 9110 6.4.1 204 with content", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "204")
			c.data(id, true, []byte("x"))
		}),
		ofHead(answer("8.1.1 HEAD with content-length", tolerated, ":status", "200", "content-length", "5")),
		ofHead(script("RFC 9110 9.3.2 HEAD with content", broken, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200", "content-length", "5")
			c.data(id, true, []byte("hello"))
		})),

		// 8.2
		malformed("8.2.1 upper case in a name", ":status", "200", "X-Upper", "y"),
		malformed("8.2.1 space in a name", ":status", "200", "x y", "z"),
		malformed("8.2.1 empty name", ":status", "200", "", "z"),
		malformed("8.2.1 NUL in a name", ":status", "200", "x\x00", "z"),
		malformed("8.2.1 colon in a name", ":status", "200", "x:y", "z"),
		malformed("8.2.1 octet above 0x7e in a name", ":status", "200", "x\xff", "z"),
		malformed("8.2.1 CR LF in a value", ":status", "200", "x", "y\r\nset-cookie: z"),
		malformed("8.2.1 LF in a value", ":status", "200", "x", "y\nz"),
		malformed("8.2.1 NUL in a value", ":status", "200", "x", "y\x00z"),
		malformed("8.2.1 space before a value", ":status", "200", "x", " y"),
		malformed("8.2.1 tab after a value", ":status", "200", "x", "y\t"),
		answer("8.2.1 octets above 0x7f in a value", tolerated, ":status", "200", "x", "\xc3\xbc\xff"),
		answer("8.2.1 empty value", tolerated, ":status", "200", "x", ""),
		malformed("8.2.2 field connection", ":status", "200", "connection", "close"),
		malformed("8.2.2 field transfer-encoding", ":status", "200", "transfer-encoding", "chunked"),
		malformed("8.2.2 field keep-alive", ":status", "200", "keep-alive", "timeout=5"),
		malformed("8.2.2 field proxy-connection", ":status", "200", "proxy-connection", "close"),
		malformed("8.2.2 field upgrade", ":status", "200", "upgrade", "websocket"),

		// 8.3
		malformed("8.3.2 no :status", "x", "y"),
		malformed("8.3.2 empty header block"),
		malformed("8.3.2 :status twice", ":status", "200", ":status", "200"),
		malformed("8.3 :status after a regular field", "x", "y", ":status", "200"),
		malformed("8.3 unknown pseudo-header field", ":status", "200", ":x", "y"),
		malformed("8.3 pseudo-header field of a request", ":status", "200", ":path", "/"),
		malformed("8.3.2 :status of two digits", ":status", "20"),
		malformed("8.3.2 :status of four digits", ":status", "2000"),
		malformed("8.3.2 :status that is not a number", ":status", "abc"),
		malformed("8.3.2 :status with a sign", ":status", "+20"),
		malformed("8.3.2 empty :status", ":status", ""),
		malformed("8.3.2 :status 099", ":status", "099"),
		malformed("8.6 status 101", ":status", "101"),
		answer("RFC 9110 15 :status 599", outcome{failedChecks: 1}, ":status", "599"),

		// What is good, though odd.
		script("4.3 a header block cut after every octet", tolerated, func(c *h2conn, id uint32) {
			block := c.fields(":status", "200", "x", "a value")
			c.frame(http2.FrameHeaders, endStream, id, block[:1])
			for i := 1; i < len(block); i++ {
				var flags http2.Flags
				if i == len(block)-1 {
					flags = endHeaders
				}
				c.frame(http2.FrameContinuation, flags, id, block[i:i+1])
			}
		}),
		script("4.1 a response of single octets", tolerated, func(c *h2conn, id uint32) {
			var out bytes.Buffer
			fr := http2.NewFramer(&out, nil)
			_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.fields(":status", "200"), EndHeaders: true})
			_ = fr.WriteDataPadded(id, true, []byte("content"), make([]byte, 9))
			for _, b := range out.Bytes() {
				c.bytes([]byte{b})
			}
		}),
		script("6.1 DATA of padding only", tolerated, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			for range 20 {
				_ = c.fr.WriteDataPadded(id, false, nil, make([]byte, 255))
			}
			_ = c.fr.WriteDataPadded(id, true, []byte("x"), make([]byte, 255))
		}),
	})
}

// ofHead makes a row's requests HEAD.
func ofHead(r h2row) h2row {
	r.plan = func(p *rv.Plan) { p.Chains[0].Steps[0].Method = http.MethodHead }
	// All requests are HEAD, so the answers of the peer behaving have no content either.
	commit := r.commit
	r.commit = func(c *h2conn, id uint32) {
		commit(c, id)
		c.headOnly = true
	}
	return r
}

func TestHostileHPACK(t *testing.T) {
	badBlock := func(name string, block ...byte) h2row {
		return script("RFC 7541 "+name, goAway(compressionError), func(c *h2conn, id uint32) { c.headerBlock(id, true, block) })
	}
	huge := bytes.Repeat([]byte{0xff}, 20)
	rows := []h2row{
		badBlock("6.1 index 0", 0x80),
		badBlock("2.3.3 index above the tables", 0x88, 0xff, 0x80, 0x01),
		badBlock("2.3.3 index of an empty dynamic table", 0x88, 0xbe),
		badBlock("5.1 integer that does not end", append([]byte{0x88, 0xff}, huge...)...),
		badBlock("5.1 integer cut", 0x88, 0xff),
		badBlock("5.2 string longer than the block", 0x88, 0x00, 0x05, 'a'),
		badBlock("5.2 string of 2^31 octets", 0x88, 0x00, 0x7f, 0x80, 0x80, 0x80, 0x80, 0x08),
		badBlock("5.2 name without value", 0x88, 0x00, 0x01, 'a'),
		badBlock("5.2 Huffman padding of more than 7 bits", 0x88, 0x00, 0x01, 'a', 0x82, 0x1f, 0xff),
		badBlock("5.2 Huffman padding of zeros", 0x88, 0x00, 0x01, 'a', 0x81, 0x18),
		badBlock("5.2 Huffman EOS", 0x88, 0x00, 0x01, 'a', 0x84, 0xff, 0xff, 0xff, 0xff),
		badBlock("6.3 size update above the setting", 0x3f, 0xe2, 0x1f, 0x88),
		badBlock("6.3 size update to 2^32-1", 0x3f, 0xe0, 0xff, 0xff, 0xff, 0x0f, 0x88),
		badBlock("4.2 size update after a field", 0x88, 0x20),
		badBlock("5.2 literal with an index above the tables", 0x88, 0x7f, 0x80, 0x01, 0x01, 'a'),
		script("RFC 7541 4.3.1 an entry that size 0 has evicted", goAway(compressionError), func(c *h2conn, id uint32) {
			c.headerBlock(id, true, []byte{0x88, 0x40, 1, 'a', 1, 'b', 0x20, 0xbe})
		}),
		script("6.5.2 a response of 64 MiB in one block of indices", reset(protocolError, enhanceYourCalm), func(c *h2conn, id uint32) {
			entry := join([]byte{0x88, 0x40, 1, 'a'}, longString(4000))
			c.headerBlock(id, true, join(entry, bytes.Repeat([]byte{0xbe}, 16000-len(entry))))
		}),
		script("6.5.2 a single field of 100 KiB", goAway(enhanceYourCalm), func(c *h2conn, id uint32) {
			block := join([]byte{0x88, 0, 1, 'a'}, longString(100<<10))
			c.frame(http2.FrameHeaders, endStream, id, block[:16384])
			for block = block[16384:]; len(block) > 0; block = block[min(len(block), 16384):] {
				c.frame(http2.FrameContinuation, 0, id, block[:min(len(block), 16384)])
			}
		}),
		script("6.10 CONTINUATION without end", goAway(enhanceYourCalm), func(c *h2conn, id uint32) {
			c.frame(http2.FrameHeaders, 0, id, status200)
			for range 20_000 {
				c.frame(http2.FrameContinuation, 0, id, []byte{0x00, 1, 'a', 1, 'b'})
			}
		}),
		script("6.10 empty CONTINUATION without end", goAway(enhanceYourCalm), func(c *h2conn, id uint32) {
			c.frame(http2.FrameHeaders, 0, id, nil)
			for range 20_000 {
				c.frame(http2.FrameContinuation, 0, id, nil)
			}
		}),
		script("RFC 7541 4.1 thousands of insertions", tolerated, func(c *h2conn, id uint32) {
			block := []byte{0x88}
			for i := range 1300 {
				block = append(block, 0x40, 2, 'a', 'a'+byte(i%26), 1, 'b')
			}
			c.headerBlock(id, true, block)
		}),
		script("4.3 header blocks of closed streams still count for the table", tolerated, func(c *h2conn, id uint32) {
			c.ok(id)
			c.headers(id, true, ":status", "200", "x-late", "an entry that comes after the end of its stream")
			if id = c.next(); id != 0 {
				c.headers(id, true, ":status", "200", "x-late", "an entry that comes after the end of its stream")
			}
		}),
		script("4.3 header blocks of malformed messages still count for the table", reset(protocolError), func(c *h2conn, id uint32) {
			c.headers(id, true, ":status", "200", "X", "bad", "x-late", "an entry after the bad field")
			if id = c.next(); id != 0 {
				c.headers(id, true, ":status", "200", "x-late", "an entry after the bad field")
			}
		}),
	}
	noTable := setTarget(func(t *rv.Target) { t.HTTP2.HeaderTableSize = new(uint32) })
	rows = append(rows,
		h2row{name: "4.3.1 no size update though our table is 0", want: goAway(compressionError), plan: noTable,
			commit: func(c *h2conn, id uint32) { c.headerBlock(id, true, []byte{0x88}) }},
		h2row{name: "RFC 7541 4.2 size update above our table of 0", want: goAway(compressionError), plan: noTable,
			commit: func(c *h2conn, id uint32) { c.headerBlock(id, true, []byte{0x21, 0x88}) }},
		h2row{name: "RFC 7541 4.2 size update to 0", want: tolerated, plan: noTable, commit: func(c *h2conn, id uint32) {
			c.headerBlock(id, true, []byte{0x20, 0x88})
		}})
	runH2Rows(t, rows)
}

// longString is a string literal of n octets, not Huffman coded (RFC 7541 5.2).
func longString(n int) []byte {
	out := []byte{0x7f}
	for v := n - 127; ; v >>= 7 {
		if v < 128 {
			out = append(out, byte(v))
			break
		}
		out = append(out, byte(v)|0x80)
	}
	return append(out, strings.Repeat("v", n)...)
}
