package h2

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// TestServerFreesWhatIsSent: a response of which something always waits keeps only what is not sent.
func TestServerFreesWhatIsSent(t *testing.T) {
	const window, parts = 1000, 1000
	body := make([]byte, (3+parts)*window)
	for i := range body {
		body[i] = byte(i / 7)
	}
	p := newServerPeer(t, Config{}, false)
	p.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	p.silent()
	p.request(1, true, "GET", "/")
	p.flush()
	var got []byte
	take := func() {
		for out := p.s.Pending(); len(out) > 0; {
			h := ParseFrameHeader(out)
			payload := out[FrameHeaderLen:][:h.Length]
			if out = out[FrameHeaderLen+h.Length:]; h.Type == http2.FrameData {
				got = append(got, payload...)
			}
		}
		p.s.Wrote(len(p.s.Pending()))
	}
	p.s.RespondFirst(1, hpack.AppendIndexed(p.s.Begin(), 8), body[:3*window])
	take()
	grant := AppendWindowUpdate(AppendWindowUpdate(nil, 0, window), 1, window)
	for i := range parts {
		p.check(p.s.Receive(grant, 0))
		take()
		p.s.RespondNext(1, body[(3+i)*window:][:window])
	}
	if b := &p.s.bodies.items[0]; len(b.data) != 2*window || cap(b.kept) > 10*window {
		t.Errorf("%d octets wait in a buffer of %d", len(b.data), cap(b.kept))
	}
	if want := body[:(1+parts)*window]; !bytes.Equal(got, want) {
		t.Errorf("%d octets are sent, want the first %d of the body", len(got), len(want))
	}
}
