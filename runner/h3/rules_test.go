package h3

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// rule is a row of the table of the rules of RFC 9114 and RFC 9204: two GETs (tokens 1 and 2, slots and streams 0 and
// 1) are open when the records come.
type rule struct {
	name   string
	in     []byte
	err    http2.ErrCode // of a connection error
	events string        // separated by "; "
	out    string        // records sent, but for the Close of a connection error
}

const malformed = "1 reset H3_MESSAGE_ERROR"

const cancelled = "CANCEL 0/0 H3_MESSAGE_ERROR"

func rules() []rule {
	ok := headers(":status", "200")
	return append(controlRules(ok), []rule{
		// Messages.
		{name: "4.1 a response without content", in: on(0, true, ok), events: "1 status 200; 1 completed"},
		{name: "4.1 the end in a record of its own", in: join(on(0, false, ok), on(0, true)), events: "1 status 200; 1 completed"},
		{name: "4.1 content and trailers", in: on(0, true, ok, content("ab"), content("c"), headers("x", "y")),
			events: "1 status 200; 1 data abc; 1 trailer x: y; 1 completed"},
		{name: "4.1 empty DATA", in: on(0, true, ok, content(""), content("a"), content("")),
			events: "1 status 200; 1 data a; 1 completed"},
		{name: "4.1 interim responses", in: on(0, true, headers(":status", "103", "link", "a"), headers(":status", "100"), ok),
			events: "1 status 200; 1 completed"},
		{name: "4.1 DATA before HEADERS", in: on(0, false, content("a")), err: protocol.H3FrameUnexpected},
		{name: "4.1 DATA after an interim response", in: on(0, false, headers(":status", "103"), content("a")), err: protocol.H3FrameUnexpected},
		{name: "4.1 DATA after trailers", in: on(0, false, ok, headers("x", "y"), content("a")), err: protocol.H3FrameUnexpected,
			events: "1 status 200; 1 trailer x: y"},
		{name: "4.1 HEADERS after trailers", in: on(0, false, ok, headers("x", "y"), headers("x", "y")), err: protocol.H3FrameUnexpected,
			events: "1 status 200; 1 trailer x: y"},
		{name: "4.1 the end without a response", in: on(0, true), events: malformed, out: cancelled},
		{name: "4.1 the end after an interim response", in: on(0, true, headers(":status", "103")), events: malformed, out: cancelled},
		{name: "4.1.1 a reset", in: record(Record{Kind: Reset, Code: 0x102}), events: "1 reset H3_INTERNAL_ERROR"},
		{name: "4.1.1 a rejected request", in: record(Record{Kind: Reset, Code: 0x10b}), events: "1 refused H3_REQUEST_REJECTED"},
		{name: "4.1.1 a reset inside a response", in: join(on(0, false, ok), record(Record{Kind: Reset, Code: 0x10c})),
			events: "1 status 200; 1 reset H3_REQUEST_CANCELLED"},
		{name: "4.1.2 more content than content-length", in: on(0, false, headers(":status", "200", "content-length", "2"), content("abc")),
			events: "1 status 200; 1 content-length: 2; " + malformed, out: cancelled},
		{name: "4.1.2 less content than content-length", in: on(0, true, headers(":status", "200", "content-length", "2"), content("a")),
			events: "1 status 200; 1 content-length: 2; 1 data a; " + malformed, out: cancelled},
		{name: "4.1.2 the content that content-length says", in: on(0, true, headers(":status", "200", "content-length", "2"), content("ab")),
			events: "1 status 200; 1 content-length: 2; 1 data ab; 1 completed"},
		{name: "4.1.2 status 204 has no content", in: on(0, true, headers(":status", "204"), content("a")),
			events: "1 status 204; " + malformed, out: cancelled},
		{name: "4.2 an upper-case name", in: on(0, true, headers(":status", "200", "X", "y")),
			events: "1 status 200; " + malformed, out: cancelled},
		{name: "4.2 a field of the connection", in: on(0, true, headers(":status", "200", "connection", "close")),
			events: "1 status 200; " + malformed, out: cancelled},
		{name: "4.2.2 a header that is too large", in: on(0, true, headers(":status", "200", "x", strings.Repeat("~", 970))),
			events: "1 status 200; " + malformed, out: cancelled},
		{name: "4.2.2 a compressed header that is too large", in: on(0, true, appendVarint([]byte{frameHeaders}, 1001)),
			events: "1 reset H3_EXCESSIVE_LOAD", out: "CANCEL 0/0 H3_EXCESSIVE_LOAD"},
		{name: "4.3 a pseudo-header field in trailers", in: on(0, true, ok, headers(":status", "200")),
			events: "1 status 200; " + malformed, out: cancelled},
		{name: "4.3 a pseudo-header field after another field", in: on(0, true, headers("x", "y", ":status", "200")), events: malformed, out: cancelled},
		{name: "4.3.2 no status", in: on(0, true, headers("x", "y")), events: malformed, out: cancelled},
		{name: "4.3.2 a pseudo-header field of requests", in: on(0, true, headers(":status", "200", ":path", "/")),
			events: "1 status 200; " + malformed, out: cancelled},
		{name: "4.5 status 101", in: on(0, true, headers(":status", "101")), events: malformed, out: cancelled},

		// Frames of a response.
		{name: "7.1 a frame cut by the end in its payload", in: on(0, true, ok, content("ab")[:3]), err: protocol.H3FrameError,
			events: "1 status 200; 1 data a"},
		{name: "7.1 a frame cut by the end in its length", in: on(0, true, ok, []byte{0, 0x40}), err: protocol.H3FrameError, events: "1 status 200"},
		{name: "7.2.3 CANCEL_PUSH in a response", in: on(0, false, frameOf(3, "\x00")), err: protocol.H3FrameUnexpected},
		{name: "7.2.4 SETTINGS in a response", in: on(0, false, frameOf(4, "")), err: protocol.H3FrameUnexpected},
		{name: "7.2.5 PUSH_PROMISE", in: on(0, false, frameOf(5, "\x00")), err: protocol.H3IDError},
		{name: "7.2.6 GOAWAY in a response", in: on(0, false, frameOf(7, "\x00")), err: protocol.H3FrameUnexpected},
		{name: "7.2.7 MAX_PUSH_ID in a response", in: on(0, false, frameOf(13, "\x00")), err: protocol.H3FrameUnexpected},
		{name: "7.2.8 PRIORITY of HTTP/2", in: on(0, false, frameOf(2, "")), err: protocol.H3FrameUnexpected},
		{name: "7.2.8 PING of HTTP/2", in: on(0, false, frameOf(6, "")), err: protocol.H3FrameUnexpected},
		{name: "9 unknown frames are ignored", in: on(0, true, frameOf(0x21, "abc"), ok, frameOf(0x40, ""), content("a"), frameOf(0x1f*9+0x21, "x")),
			events: "1 status 200; 1 data a; 1 completed"},
		{name: "RFC 9204 2.2.1 a block that needs the dynamic table", in: on(0, true, frameOf(frameHeaders, "\x02\x00\x80")), err: protocol.QPACKDecompression},

		// Records.
		{name: "octets of a stream that has ended", in: join(on(0, true, ok), on(0, true, ok)), events: "1 status 200; 1 completed"},
		{name: "octets of an earlier stream in the slot", in: join(on(0, true, ok), record(Record{Kind: Data, Slot: 1, Stream: 7, Data: ok}),
			on(1, true, ok)), events: "1 status 200; 1 completed; 2 status 200; 2 completed"},
		{name: "a reset of a stream that has ended", in: join(on(0, true, ok), record(Record{Kind: Reset})), events: "1 status 200; 1 completed"},
		{name: "octets in a slot without a stream", in: on(9, true, ok)},
	}...)
}

// controlRules are those of the peer's unidirectional streams.
func controlRules(ok []byte) []rule {
	goAway := func(id string) []byte { return peer(0, frameOf(frameGoAway, id)) }
	return []rule{
		{name: "5.2 GOAWAY: streams from the id on were not processed", in: join(goAway("\x04"), on(0, true, ok), on(1, true, ok)),
			events: "2 unprocessed; 1 status 200; 1 completed", out: "CANCEL 1/1 H3_REQUEST_CANCELLED"},
		{name: "5.2 GOAWAY lowered", in: join(goAway("\xbf\xff\xff\xfc"), goAway("\x04"), goAway("\x00")), events: "2 unprocessed; 1 unprocessed",
			out: "CANCEL 1/1 H3_REQUEST_CANCELLED; CANCEL 0/0 H3_REQUEST_CANCELLED"},
		{name: "5.2 GOAWAY raised", in: join(goAway("\x08"), goAway("\x0c")), err: protocol.H3IDError},
		{name: "7.2.6 GOAWAY with an id that is not of a request", in: goAway("\x05"), err: protocol.H3IDError},
		{name: "7.1 GOAWAY without an id", in: goAway(""), err: protocol.H3FrameError},
		{name: "7.1 GOAWAY with more than an id", in: goAway("\x00\x00"), err: protocol.H3FrameError},
		{name: "10.5 a large GOAWAY", in: peer(0, appendVarint([]byte{frameGoAway}, maxPayload+1)), err: protocol.H3ExcessiveLoad},
		{name: "6.2.1 the end of the control stream", in: record(Record{Kind: Peer, Fin: true}), err: protocol.H3ClosedCriticalStream},
		{name: "6.2.1 the reset of the control stream", in: record(Record{Kind: PeerReset}), err: protocol.H3ClosedCriticalStream},
		{name: "6.2.1 a second control stream", in: peer(1, []byte{streamControl}), err: protocol.H3StreamCreationError},
		{name: "6.2.2 a push stream", in: peer(1, []byte{streamPush}), err: protocol.H3IDError},
		{name: "6.2.3 a stream of an unknown type", in: join(peer(1, []byte{0x21}, []byte("abc")), record(Record{Kind: Peer, Stream: 1, Fin: true}),
			on(0, true, ok)), events: "1 status 200; 1 completed"},
		{name: "6.2 a stream that ends before its type", in: record(Record{Kind: Peer, Stream: 1, Fin: true, Data: []byte{0x40}})},
		{name: "6.2 the type in pieces", in: join(peer(1, []byte{0x40}), peer(1, []byte{streamControl})), err: protocol.H3StreamCreationError},
		{name: "7.2.1 DATA on the control stream", in: peer(0, content("a")), err: protocol.H3FrameUnexpected},
		{name: "7.2.2 HEADERS on the control stream", in: peer(0, ok), err: protocol.H3FrameUnexpected},
		{name: "7.2.3 CANCEL_PUSH", in: peer(0, frameOf(frameCancelPush, "\x00")), err: protocol.H3IDError},
		{name: "7.2.4 a second SETTINGS", in: peer(0, frameOf(frameSettings, "")), err: protocol.H3FrameUnexpected},
		{name: "7.2.5 PUSH_PROMISE on the control stream", in: peer(0, frameOf(framePushPromise, "")), err: protocol.H3FrameUnexpected},
		{name: "7.2.7 MAX_PUSH_ID from a server", in: peer(0, frameOf(frameMaxPushID, "\x00")), err: protocol.H3FrameUnexpected},
		{name: "7.2.8 WINDOW_UPDATE of HTTP/2", in: peer(0, frameOf(8, "")), err: protocol.H3FrameUnexpected},
		{name: "9 an unknown frame on the control stream", in: join(peer(0, frameOf(0x21, "abc"), frameOf(0x40, "")), goAway("\x04")),
			events: "2 unprocessed", out: "CANCEL 1/1 H3_REQUEST_CANCELLED"},
		{name: "RFC 9204 4.2 a second encoder stream", in: join(peer(1, []byte{streamEncoder}), peer(2, []byte{streamEncoder})), err: protocol.H3StreamCreationError},
		{name: "RFC 9204 4.2 the end of the decoder stream", in: record(Record{Kind: Peer, Stream: 1, Fin: true, Data: []byte{streamDecoder}}),
			err: protocol.H3ClosedCriticalStream},
		{name: "RFC 9204 4.3.1 capacity 0", in: peer(1, []byte{streamEncoder, 0x20})},
		{name: "RFC 9204 4.3.1 a capacity above ours", in: peer(1, []byte{streamEncoder, 0x21}), err: protocol.QPACKEncoderStream},
		{name: "RFC 9204 4.3.2 an insertion", in: peer(1, []byte{streamEncoder, 0xc0}), err: protocol.QPACKEncoderStream},
		{name: "RFC 9204 4.4.1 an acknowledgement", in: peer(1, []byte{streamDecoder, 0x80}), err: protocol.QPACKDecoderStream},
		{name: "RFC 9204 4.4.2 cancellations", in: peer(1, []byte{streamDecoder, 0x44, 0x7f, 0x80, 0x01, 0x48})},
		{name: "RFC 9204 4.4.2 a cancellation without end", in: join(peer(1, []byte{streamDecoder, 0x7f}, []byte(strings.Repeat("\x80", 11)))),
			err: protocol.QPACKDecoderStream},
		{name: "RFC 9204 4.4.3 an increment", in: peer(1, []byte{streamDecoder, 0x01}), err: protocol.QPACKDecoderStream},
	}
}

func TestRules(t *testing.T) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, size := range []int{0, 1, 7} {
				c := converse(t, Config{MaxHeaderListSize: 1000}, 2)
				c.get(1, "", protocol.WantHeaders|protocol.WantBody)
				c.get(2, "", protocol.WantHeaders|protocol.WantBody)
				c.sent()
				err := c.feed(r.in, size)
				if codeOf(err) != r.err {
					t.Fatalf("error %v, want %v", err, protocol.CodeName(r.err))
				}
				if got := strings.Join(c.Take(), "; "); got != r.events {
					t.Errorf("events in pieces of %d: %s\nwant: %s", size, got, r.events)
				}
				want := r.out
				if r.err != 0 {
					want = strings.TrimPrefix(want+"; CLOSE "+protocol.CodeName(r.err), "; ")
				}
				if got := c.sent(); got != want {
					t.Errorf("sent %s\nwant %s", got, want)
				}
				if c.err != nil && c.Free() != 0 {
					t.Errorf("%d free after an error", c.Free())
				}
			}
		})
	}
}

// TestSettingsRules has the rules of the begin of the control stream.
func TestSettingsRules(t *testing.T) {
	for _, r := range []struct {
		name, control string
		err           http2.ErrCode
		ready         bool
	}{
		{name: "6.2.1 SETTINGS", control: "\x00\x04\x00", ready: true},
		{name: "6.2.1 another frame first", control: "\x00\x07\x01\x00", err: protocol.H3MissingSettings},
		{name: "6.2.1 an unknown frame first", control: "\x00\x21\x00", err: protocol.H3MissingSettings},
		{name: "7.2.4 unknown settings", control: "\x00\x04\x06\x21\x01\x08\x01\x33\x00", ready: true},
		{name: "7.2.4 a setting twice", control: "\x00\x04\x04\x21\x01\x21\x01", err: protocol.H3SettingsError},
		{name: "7.2.4.1 a setting of HTTP/2", control: "\x00\x04\x02\x03\x01", err: protocol.H3SettingsError},
		{name: "7.1 SETTINGS cut in an identifier", control: "\x00\x04\x01\x40", err: protocol.H3FrameError},
		{name: "7.1 SETTINGS cut in a value", control: "\x00\x04\x01\x06", err: protocol.H3FrameError},
		{name: "10.5 large SETTINGS", control: "\x00\x04\x80\x00\x40\x01", err: protocol.H3ExcessiveLoad},
		{name: "6.2.1 nothing yet", control: "\x00\x04\x02"},
	} {
		t.Run(r.name, func(t *testing.T) {
			for _, size := range []int{0, 1} {
				c := &conversation{t: t}
				c.Client = NewClient(Config{}, &c.Recorder)
				err := c.feed(peer(0, []byte(r.control)), size)
				if codeOf(err) != r.err || c.Ready() != r.ready {
					t.Errorf("error %v, ready %t; want %s, %t", err, c.Ready(), protocol.CodeName(r.err), r.ready)
				}
			}
		})
	}
}

// feed passes records to the session, in pieces of size octets of their data; 0: whole.
func (c *conversation) feed(in []byte, size int) error {
	if size == 0 {
		return c.Receive(in, 0)
	}
	for len(in) > 0 {
		r, n := NextRecord(in)
		if n == 0 { // octets of fuzzing
			return c.Receive(in, 0)
		}
		in = in[n:]
		data, fin := r.Data, r.Fin
		for len(data) > size {
			r.Data, r.Fin = data[:size], false
			data = data[size:]
			if err := c.cut(record(r)); err != nil {
				return err
			}
		}
		r.Data, r.Fin = data, fin
		if err := c.cut(record(r)); err != nil {
			return err
		}
	}
	return nil
}

// cut passes a record in two reads.
func (c *conversation) cut(p []byte) error {
	if err := c.Receive(p[:len(p)/2], 0); err != nil {
		return err
	}
	return c.Receive(p[len(p)/2:], 0)
}

func codeOf(err error) http2.ErrCode {
	if e := (*ConnError)(nil); errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestErrorSaysTheRule(t *testing.T) {
	c := converse(t, Config{}, 1)
	err := c.Receive(peer(0, frameOf(frameSettings, "")), 0)
	want := "http3: H3_FRAME_UNEXPECTED: a second SETTINGS (RFC 9114 7.2.4)"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
