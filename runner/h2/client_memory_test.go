package h2

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// wideWindows are those of a peer that lets the client send what it likes.
func wideWindows() []http2.Setting {
	return []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: maxWindow}, {ID: http2.SettingMaxConcurrentStreams, Val: 1 << 18}}
}

// TestPeerThatStopsReading: with all windows open, little more than sendAhead is put into the out buffer, a
// cancelled request takes the rest of its body with it, and in the end no stream can be opened.
func TestPeerThatStopsReading(t *testing.T) {
	v := converse(t, Config{MaxConcurrentStreams: 1 << 18, ResetsPerSecond: -1}, wideWindows()...)
	v.mustReceive(AppendWindowUpdate(nil, 0, maxWindow-initialWindowSize))
	body := bytes.Repeat([]byte("x"), 200_000)
	for range 20 {
		v.open(body, protocol.StableBody)
	}
	if n := len(v.Pending()); n < sendAhead || n > sendAhead+minMaxFrameSize+20*100 {
		t.Errorf("%d octets wait to be sent", n)
	}
	for id := uint32(3); id < 41; id += 2 {
		v.Cancel(id, 0)
	}
	if v.bodies.count != 0 {
		t.Errorf("%d bodies are left of cancelled requests", v.bodies.count)
	}
	n := 0
	for ; v.Free() > 0; n++ {
		v.Cancel(v.open(body, protocol.StableBody), 0)
	}
	if most := 2*sendAhead + 1000; len(v.Pending()) > most || cap(v.out.Buf) > 2*most {
		t.Errorf("%d octets wait to be sent, in a buffer of %d", len(v.Pending()), cap(v.out.Buf))
	}
	v.Wrote(len(v.Pending()))
	if v.Free() == 0 || n < 1000 {
		t.Errorf("%d requests, %d streams free after all was sent", n, v.Free())
	}
}

// TestBodiesFollowTheSocket: bodies that found no room are sent as the socket takes what is before them, a
// frame each in turn, whole and with their end.
func TestBodiesFollowTheSocket(t *testing.T) {
	for _, want := range []protocol.Want{0, protocol.StableBody} {
		v := converse(t, Config{}, wideWindows()...)
		v.mustReceive(AppendWindowUpdate(nil, 0, maxWindow-initialWindowSize))
		var out []byte
		bodies := map[uint32][]byte{}
		for i := range 5 {
			body := bytes.Repeat([]byte{byte('a' + i)}, 300_000+i)
			bodies[v.Open(hpack.AppendIndexed(v.Begin(), 2), 1, body, want)] = bytes.Clone(body)
			if want == 0 {
				clear(body) // it was copied
			}
		}
		for len(v.Pending()) > 0 {
			if len(v.Pending()) > 2*sendAhead {
				t.Fatalf("%d octets wait to be sent", len(v.Pending()))
			}
			n := min(len(v.Pending()), 100_000)
			out = append(out, v.Pending()[:n]...)
			v.Wrote(n)
		}
		got := map[uint32][]byte{}
		f := http2.NewFramer(nil, bytes.NewReader(out))
		for fr, err := f.ReadFrame(); err == nil; fr, err = f.ReadFrame() {
			if d, ok := fr.(*http2.DataFrame); ok {
				id := d.StreamID
				got[id] = append(got[id], d.Data()...)
				if end := len(got[id]) == len(bodies[id]); end != d.StreamEnded() {
					t.Errorf("stream %d: %d of %d octets, end %v", id, len(got[id]), len(bodies[id]), d.StreamEnded())
				}
			}
		}
		for id, body := range bodies {
			if !bytes.Equal(got[id], body) {
				t.Errorf("stream %d: %d octets of %d, or others", id, len(got[id]), len(body))
			}
		}
		if v.bodies.count != 0 {
			t.Errorf("%d bodies are left", v.bodies.count)
		}
	}
}

// TestStableBodiesAreNotCopied: many requests with one body, whose windows are closed.
func TestStableBodiesAreNotCopied(t *testing.T) {
	v := converse(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	body := make([]byte, 1<<20)
	for range 50 {
		v.open(body, protocol.StableBody)
	}
	for i := range v.bodies.items {
		if b := &v.bodies.items[i]; &b.data[0] != &body[0] || b.kept != nil {
			t.Fatal("the body was copied")
		}
	}
}
