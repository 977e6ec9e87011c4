package h3

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/runner/protocol"
)

// TestOpen has the frames of a request (RFC 9114 4.1).
func TestOpen(t *testing.T) {
	long := strings.Repeat("p", 1<<14)
	for _, c := range []struct {
		name, body string
		block      []byte
		want       []byte
	}{
		{name: "no body", block: []byte("\x00\x00\xd1"), want: []byte("\x01\x40\x03\x00\x00\xd1")},
		{name: "a body", body: "abc", block: []byte("\x00\x00\xd4"), want: []byte("\x01\x40\x03\x00\x00\xd4\x00\x03abc")},
		{name: "the longest header of two octets", block: []byte(long[1:]), want: append([]byte("\x01\x7f\xff"), long[1:]...)},
		{name: "a long header", block: []byte(long), want: append([]byte("\x01\x80\x00\x40\x00"), long...)},
		{name: "a long body", body: long, block: []byte("\x00\x00\xd4"), want: append([]byte("\x01\x40\x03\x00\x00\xd4\x00\x80\x00\x40\x00"), long...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := converse(t, Config{}, 1)
			if id := s.Open(append(s.Begin(), c.block...), 1, []byte(c.body), 0); id == 0 {
				t.Fatal("Open returned 0")
			}
			r, n := NextRecord(s.Pending())
			if n != len(s.Pending()) || r.Kind != Request || !r.Fin || !bytes.Equal(r.Data, c.want) {
				t.Errorf("record %d fin %t of %d octets, want %d", r.Kind, r.Fin, len(r.Data), len(c.want))
			}
		})
	}
}

// TestCredits: requests use the streams that the transport has opened, in their order, as far as the bound allows.
func TestCredits(t *testing.T) {
	c := converse(t, Config{MaxConcurrentStreams: 3}, 2)
	c.get(1, "", 0)
	c.get(2, "", 0)
	if c.Free() != 0 || c.Open(c.Begin(), 3, nil, 0) != 0 {
		t.Error("a request was opened without a credit")
	}
	in := join(on(1, true, headers(":status", "200")), record(Record{Kind: Credit, Slot: 1, Stream: 2}),
		record(Record{Kind: Credit, Slot: 2, Stream: 3}), record(Record{Kind: Credit, Slot: 3, Stream: 4}))
	if err := c.Receive(in, 0); err != nil || c.Free() != 2 || c.InFlight() != 1 {
		t.Fatalf("free %d, in flight %d, error %v", c.Free(), c.InFlight(), err)
	}
	c.sent()
	c.get(3, "", 0)
	if got := c.sent(); !strings.HasPrefix(got, "REQUEST 1/2 true") {
		t.Errorf("sent %s", got)
	}
}

// TestEarly: requests need not wait for SETTINGS while the transport takes early data. The first frame of the peer must
// be SETTINGS as ever.
func TestEarly(t *testing.T) {
	c := &conversation{t: t}
	c.Client = NewClient(Config{}, &c.Recorder)
	credit := record(Record{Kind: Credit})
	if _ = c.Receive(credit, 0); c.Free() != 0 || c.Ready() {
		t.Error("ready without SETTINGS")
	}
	if _ = c.Receive(record(Record{Kind: Early}), 0); c.Free() != 1 || !c.Ready() {
		t.Error("not ready with early data")
	}
	c.Wrote(len(c.Pending()))
	c.get(1, "", protocol.EarlyData)
	if r, _ := NextRecord(c.Pending()); !r.Early || !r.Fin {
		t.Errorf("record %+v", r)
	}
	if _, ok := c.Handshake(); ok {
		t.Error("the handshake is complete")
	}
	_ = c.Receive(record(Record{Kind: Handshaken, Code: Resumed}), 0)
	if code, ok := c.Handshake(); code != Resumed || !ok {
		t.Errorf("code %d, %t", code, ok)
	}
	if _, ok := c.Handshake(); ok {
		t.Error("the handshake is complete twice")
	}
	if err := c.Receive(peer(0, []byte{streamControl}, frameOf(frameGoAway, "\x00")), 0); err == nil {
		t.Error("GOAWAY before SETTINGS")
	}
}

// TestCutRecordIsSmall: a connection keeps the memory of a cut record, not that of the read after it.
func TestCutRecordIsSmall(t *testing.T) {
	c := converse(t, Config{}, 1)
	c.get(1, "", protocol.WantBody)
	answer := on(0, false, headers(":status", "200"))
	for range 100 {
		answer = append(answer, on(0, false, content(strings.Repeat("x", 2000)))...)
	}
	for _, p := range [][]byte{answer[:3], answer[3:10], answer[10:40], answer[40:]} {
		if err := c.Receive(p, 0); err != nil {
			t.Fatal(err)
		}
	}
	if cap(c.carry) > 4096 {
		t.Errorf("keeps %d octets", cap(c.carry))
	}
	if got, want := strings.Join(c.Take(), "\n"), "1 status 200\n1 data "+strings.Repeat("x", 200_000); got != want {
		t.Errorf("%d octets of events, want %d", len(got), len(want))
	}
}

func TestCancel(t *testing.T) {
	c := converse(t, Config{}, 3)
	first, second := c.get(1, "", protocol.WantBody), c.get(2, "", protocol.WantBody)
	c.sent()
	c.get(3, "", 0) // the transport does not take it
	if !c.Cancel(first, 0) || c.Cancel(first, 0) || c.Cancel(0, 0) || c.Cancel(99, 0) || c.InFlight() != 2 {
		t.Errorf("in flight %d", c.InFlight())
	}
	if got := c.sent(); !strings.HasPrefix(got, "CANCEL 0/0 H3_REQUEST_CANCELLED; REQUEST 2/2") {
		t.Errorf("sent %s", got)
	}
	if err := c.Receive(on(0, true, headers(":status", "200")), 0); err != nil || len(c.Take()) != 0 {
		t.Errorf("an event of a cancelled request, error %v", err)
	}
	_ = c.Receive(peer(0, frameOf(frameSettings, "")), 0)
	if c.Cancel(second, 0) {
		t.Error("a reset after an error")
	}
	if got := c.sent(); got != "CLOSE H3_FRAME_UNEXPECTED" {
		t.Errorf("sent %s", got)
	}
}

func TestClose(t *testing.T) {
	c := converse(t, Config{}, 3)
	c.get(1, "", 0)
	c.Cancel(c.get(2, "", 0), 0)
	c.get(3, "", 0)
	c.Close()
	if got := fmt.Sprint(c.Take()); got != "[1 lost 3 lost]" || c.InFlight() != 0 || c.Free() != 0 {
		t.Errorf("events %s, in flight %d, free %d", got, c.InFlight(), c.Free())
	}
}

// TestWhatIsWanted: the handler gets what it asked for.
func TestWhatIsWanted(t *testing.T) {
	answer := func(status string) []byte {
		return on(0, true, headers(":status", status, "x", "y"), content("abc"), headers("z", "w"))
	}
	for _, c := range []struct {
		want           protocol.Want
		status, events string
	}{
		{0, "200", "[1 status 200 1 completed]"},
		{protocol.WantHeaders, "200", "[1 status 200 1 x: y 1 trailer z: w 1 completed]"},
		{protocol.WantBody, "200", "[1 status 200 1 data abc 1 completed]"},
		{protocol.WantErrorBody, "200", "[1 status 200 1 completed]"},
		{protocol.WantErrorBody, "400", "[1 status 400 1 data abc 1 completed]"},
	} {
		s := converse(t, Config{}, 1)
		s.get(1, "", c.want)
		if err := s.Receive(answer(c.status), 0); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.Take()); got != c.events {
			t.Errorf("%d, %s: %s, want %s", c.want, c.status, got, c.events)
		}
	}
}

// TestHeadHasNoContent: content-length of a response to HEAD is that of GET (RFC 9110 9.3.2).
func TestHeadHasNoContent(t *testing.T) {
	c := converse(t, Config{}, 1)
	c.get(1, "", protocol.HeadRequest)
	_ = c.Receive(on(0, true, headers(":status", "200", "content-length", "5")), 0)
	if got := fmt.Sprint(c.Take()); got != "[1 status 200 1 completed]" {
		t.Error(got)
	}
}

// TestOutIsBounded: no request is opened while the transport takes nothing.
func TestOutIsBounded(t *testing.T) {
	c := converse(t, Config{}, 100)
	n := 0
	for c.Free() > 0 {
		c.get(1, strings.Repeat("b", 64<<10), 0)
		n++
	}
	if n != outFull/(64<<10) {
		t.Errorf("%d requests were opened", n)
	}
	c.Wrote(len(c.Pending()) / 2)
	if c.Free() == 0 {
		t.Error("no request may be opened after half was sent")
	}
	for range 2 * n {
		c.Wrote(min(len(c.Pending()), 40<<10))
	}
	if len(c.Pending()) != 0 || cap(c.out.buf) != 0 {
		t.Errorf("%d pending in %d octets", len(c.Pending()), cap(c.out.buf))
	}
}

func TestShutdown(t *testing.T) {
	c := converse(t, Config{}, 2)
	c.get(1, "", 0)
	c.Shutdown()
	if c.Free() != 0 || c.InFlight() != 1 {
		t.Errorf("free %d, in flight %d", c.Free(), c.InFlight())
	}
}
