package listen

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/notification"
)

const timeout = 100 * time.Millisecond

// bench is a Net with one socket, and a Host.
type bench struct {
	netio.Net
	ls *Listeners
	// in is what the peer has sent, out what it gets.
	in, out bytes.Buffer
	data    int32
	closed  bool
	// log has what the host is called for.
	log []string
}

func newBench() *bench { return newBenchWith(nil) }

// newBenchWith returns a bench whose listener has rules.
func newBenchWith(set *rules.Set) *bench {
	b := &bench{}
	b.ls, _ = New(Config{
		Plans: []chain.Listener{{Name: "l", Timeouts: []time.Duration{timeout}, Retention: timeout, MaxBody: 100, Rules: set, Response: []byte{0x89}}}, // :status 204
		Net:   b, Host: b, Recorder: measure.New(measure.Shape{}), Wall: func() int64 { return 0 }, Log: slog.New(slog.DiscardHandler),
	})
	b.ls.Begin(1)
	return b
}

func (b *bench) Adopt(_ *dial.Connection, data int32) (int, error) {
	b.data = data
	return 3, nil
}

func (b *bench) Read(_ int, p []byte) (int, netio.Status) {
	n, _ := b.in.Read(p)
	if n == 0 {
		return 0, netio.Again
	}
	return n, netio.OK
}

func (b *bench) Send(_ int, p []byte) (int, netio.Status) {
	n, _ := b.out.Write(p)
	return n, netio.OK
}

func (*bench) Interest(int, int32, bool) error { return nil }
func (b *bench) Close(int)                     { b.closed = true }

func (b *bench) Arrived(to notification.Waiter, x *book.Exchange, at int64) bool {
	b.log = append(b.log, fmt.Sprintf("step %d: %s at %d", to.Step, x.Response.Body, at))
	return string(x.Response.Body) == "bad"
}

func (b *bench) Missed(of notification.Waiter) {
	b.log = append(b.log, fmt.Sprintf("step %d: missed", of.Step))
}

// turn lets the listeners handle what the peer has sent.
func (b *bench) turn() {
	b.ls.Ready(&netio.Event{Data: b.data, Readable: true})
	b.ls.Flush()
}

// notify sends a notification and its connection's preface.
func (b *bench) notify(path, body string) {
	b.in.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&b.in, nil)
	_ = fr.WriteSettings()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "POST"}, {":authority", "nf"}, {":scheme", "https"}, {":path", path}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = fr.WriteData(1, true, []byte(body))
}

// frames returns the types of the frames that the peer got.
func (b *bench) frames() (out []string) {
	fr := http2.NewFramer(nil, &b.out)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return out
		}
		out = append(out, f.Header().Type.String())
	}
}

func TestNotifications(t *testing.T) {
	await := func(b *bench) {
		b.ls.Await(0, []byte("/n"), 0, notification.Waiter{Step: 7, Since: 1})
	}
	notify := func(body string) func(*bench) {
		return func(b *bench) {
			b.ls.Serve(0, &dial.Connection{})
			b.notify("/n", body)
			b.turn()
		}
	}
	after := func(d time.Duration) func(*bench) {
		return func(b *bench) {
			b.ls.Begin(1 + int64(d))
			b.ls.Expire()
		}
	}
	for _, tt := range []struct {
		name string
		do   []func(*bench)
		log  []string
		want rv.ListenerCounts
		held int
	}{
		{"the step first", []func(*bench){await, notify("a")}, []string{"step 7: a at 1"}, rv.ListenerCounts{Received: 1, InTime: 1, Awaited: 1}, 0},
		{"the notification first", []func(*bench){notify("a"), after(1), await}, []string{"step 7: a at 1"}, rv.ListenerCounts{Received: 1, InTime: 1, Awaited: 1}, 0},
		{"a check fails", []func(*bench){await, notify("bad")}, []string{"step 7: bad at 1"}, rv.ListenerCounts{Received: 1, InTime: 1, FailedChecks: 1, Awaited: 1}, 0},
		{"no step", []func(*bench){notify("a")}, nil, rv.ListenerCounts{Received: 1, Early: 1}, 1},
		{"unexpected", []func(*bench){notify("a"), after(timeout)}, nil, rv.ListenerCounts{Received: 1, Unexpected: 1}, 0},
		{"missing", []func(*bench){await, after(timeout)}, []string{"step 7: missed"}, rv.ListenerCounts{Awaited: 1, Missing: 1}, 0},
		{"the end", []func(*bench){await, func(b *bench) { b.ls.CloseAll() }}, nil, rv.ListenerCounts{Awaited: 1, WaitingAtEnd: 1}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench()
			for _, f := range tt.do {
				f(b)
			}
			if diff := cmp.Diff(tt.log, b.log); diff != "" {
				t.Errorf("the host (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]rv.ListenerCounts{tt.want}, b.ls.Counts()); diff != "" || b.ls.Held() != tt.held || b.ls.Memory() != 0 {
				t.Errorf("%d are held with %d octets, counts (-want +got):\n%s", b.ls.Held(), b.ls.Memory(), diff)
			}
			if waits := tt.want.Awaited > tt.want.InTime+tt.want.Missing+tt.want.WaitingAtEnd; b.ls.Waits() != waits {
				t.Errorf("waits: %v, want %v", b.ls.Waits(), waits)
			}
			if tt.want.Received > 0 {
				if diff := cmp.Diff([]string{"SETTINGS", "WINDOW_UPDATE", "SETTINGS", "HEADERS"}, b.frames()); diff != "" {
					t.Errorf("the peer got (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestPeerOfHTTP1: a peer that speaks HTTP/1.1 gets a response of HTTP/1.1, and its connection is closed.
func TestPeerOfHTTP1(t *testing.T) {
	b := newBench()
	b.ls.Serve(0, &dial.Connection{})
	b.in.WriteString("POST /n HTTP/1.1\r\nhost: nf\r\ncontent-length: 0\r\n\r\n")
	if b.turn(); !b.closed || !strings.Contains(b.out.String(), "HTTP/1.1 505 ") {
		t.Errorf("closed: %v, the peer got %q", b.closed, b.out.String())
	}
}

// TestCloseAll: the connections end with GOAWAY, and no other is served.
func TestCloseAll(t *testing.T) {
	b := newBench()
	b.ls.Serve(0, &dial.Connection{})
	b.ls.CloseAll()
	if diff := cmp.Diff([]string{"SETTINGS", "WINDOW_UPDATE", "GOAWAY"}, b.frames()); diff != "" || !b.closed {
		t.Errorf("closed: %v, the peer got (-want +got):\n%s", b.closed, diff)
	}
	b.data = 0
	late, _ := net.Pipe()
	if b.ls.Serve(0, &dial.Connection{FD: -1, Conn: late}); b.data != 0 {
		t.Error("a connection is served after the end")
	}
}
