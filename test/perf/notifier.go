package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
)

// notifier is an h2c server that answers each POST with 201, and then sends a notification to the "callback" of its
// content. It handles frames itself, because a server with net/http needs the whole CPU for fewer notifications than
// one worker of h2surge receives. It decodes no header fields: it needs only the content.
type notifier struct {
	requests atomic.Int64
	mu       sync.Mutex
	peers    map[string]*callbacks // by authority
}

// Sizes of the notifier's connections.
const (
	notifierStreams = 256
	notifierWindow  = 1<<31 - 1
	initialWindow   = 1<<16 - 1 // of a connection (RFC 9113 6.9.2)
	notifierBuffer  = 64 << 10
)

// Header blocks without entries of the dynamic table (RFC 7541).
var (
	createdBlock      = []byte("\x08\x03201")
	notificationBegin = []byte("\x83\x86") // :method POST, :scheme http
	jsonType          = []byte("\x0f\x10\x10application/json")
	event             = []byte(`{"event":"CREATED"}`)
)

const (
	pathIndex      = 0x04 // literal without indexing, with the name of the static table
	authorityIndex = 0x01
)

// notifierMain serves h2c on the first address, and the count of requests on the second, until it is killed.
func notifierMain(args []string) error {
	if len(args) != 2 {
		return errors.New("notifier needs two addresses")
	}
	n := &notifier{peers: map[string]*callbacks{}}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	go n.accept(l)
	return http.ListenAndServe(args[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, n.requests.Load()) })) //nolint:gosec // for the harness, which stops it
}

// accept serves the connections of a listener until it is closed.
func (n *notifier) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go n.serve(c)
	}
}

// serve answers the requests of a connection until the client closes it.
func (n *notifier) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	r, w := bufio.NewReaderSize(c, notifierBuffer), bufio.NewWriterSize(c, notifierBuffer)
	if _, err := r.Discard(len(http2.ClientPreface)); err != nil {
		return
	}
	f, begun := http2.NewFramer(w, r), map[uint32][]byte{}
	f.SetReuseFrames()
	if f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: notifierStreams}) != nil ||
		f.WriteWindowUpdate(0, notifierWindow-initialWindow) != nil {
		return
	}
	for flushed := w.Flush(); flushed == nil; {
		frame, err := f.ReadFrame()
		if err == nil {
			err = n.handle(f, frame, begun)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "notifier:", err)
			}
			return
		}
		if r.Buffered() == 0 {
			flushed = w.Flush()
			n.flush()
		}
	}
}

// handle handles a frame. begun are the contents whose last frame has not come yet, by stream.
func (n *notifier) handle(f *http2.Framer, frame http2.Frame, begun map[uint32][]byte) error {
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return f.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return f.WritePing(true, frame.Data)
		}
	case *http2.DataFrame:
		content := frame.Data()
		if begin, split := begun[frame.StreamID]; split || !frame.StreamEnded() {
			content = append(begin, content...)
			begun[frame.StreamID] = content
		}
		if !frame.StreamEnded() {
			return nil
		}
		delete(begun, frame.StreamID)
		n.requests.Add(1)
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: frame.StreamID, BlockFragment: createdBlock,
			EndStream: true, EndHeaders: true}); err != nil {
			return err
		}
		return n.notify(content)
	}
	return nil
}

// notify sends a notification to the callback of a content.
func (n *notifier) notify(content []byte) error {
	_, uri, _ := bytes.Cut(content, []byte(`"callback":"http://`))
	uri, _, _ = bytes.Cut(uri, []byte(`"`))
	authority, path, ok := bytes.Cut(uri, []byte("/"))
	if !ok {
		return fmt.Errorf("no callback in %q", content)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peers[string(authority)]
	if p == nil {
		var err error
		if p, err = dialCallbacks(string(authority)); err != nil {
			return err
		}
		n.peers[string(authority)] = p
	}
	return p.add(append([]byte("/"), path...))
}

// flush writes the notifications that the last frames have caused.
func (n *notifier) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for authority, p := range n.peers {
		if p.flush() != nil {
			delete(n.peers, authority)
		}
	}
}

// callbacks is a connection to a listener.
type callbacks struct {
	authority string
	conn      net.Conn
	mu        sync.Mutex // guards the fields below
	w         *bufio.Writer
	f         *http2.Framer
	next      uint32 // stream
	// waiting are the paths of notifications that wait for a stream or for window.
	waiting                [][]byte
	streams, most, credits int64 // in flight, allowed by the peer (0: its SETTINGS have not come), octets that may be sent
	block                  []byte
	ended                  error
}

func dialCallbacks(authority string) (*callbacks, error) {
	c, err := net.Dial("tcp", authority)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(c, notifierBuffer)
	p := &callbacks{authority: authority, conn: c, w: w, f: http2.NewFramer(w, bufio.NewReaderSize(c, notifierBuffer)),
		next: 1, credits: initialWindow}
	p.f.SetReuseFrames()
	_, _ = w.WriteString(http2.ClientPreface) // an error stays in w
	if err := p.f.WriteSettings(); err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	go p.receive() // it writes, too
	return p, nil
}

// add sends a notification, or keeps it until there is a stream.
func (p *callbacks) add(path []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, path)
	return p.sendWaiting()
}

func (p *callbacks) sendWaiting() error {
	sent := 0
	for ; sent < len(p.waiting) && p.streams < p.most && p.credits >= int64(len(event)) && p.ended == nil; sent++ {
		p.streams++
		p.credits -= int64(len(event))
		p.ended = p.send(p.waiting[sent])
	}
	p.waiting = append(p.waiting[:0], p.waiting[sent:]...)
	return p.ended
}

func (p *callbacks) send(path []byte) error {
	b := append(p.block[:0], notificationBegin...)
	b = append(append(b, pathIndex, byte(len(path))), path...)
	b = append(append(b, authorityIndex, byte(len(p.authority))), p.authority...)
	p.block = append(b, jsonType...)
	if err := p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: p.next, BlockFragment: p.block,
		EndHeaders: true}); err != nil {
		return err
	}
	err := p.f.WriteData(p.next, true, event)
	p.next += 2
	return err
}

func (p *callbacks) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = p.w.Flush()
	}
	return p.ended
}

// receive takes the answers of a listener until it closes the connection.
func (p *callbacks) receive() {
	defer func() { _ = p.conn.Close() }()
	for {
		frame, err := p.f.ReadFrame()
		p.mu.Lock()
		if err == nil {
			err = p.take(frame)
		}
		p.ended = err
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *callbacks) take(frame http2.Frame) error {
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if frame.IsAck() {
			return nil
		}
		if v, ok := frame.Value(http2.SettingMaxConcurrentStreams); ok {
			p.most = int64(v)
		} else if p.most == 0 {
			p.most = notifierStreams
		}
		if err := p.f.WriteSettingsAck(); err != nil {
			return err
		}
	case *http2.WindowUpdateFrame:
		if frame.StreamID == 0 {
			p.credits += int64(frame.Increment)
		}
	case *http2.HeadersFrame:
		p.streams--
	case *http2.RSTStreamFrame:
		return fmt.Errorf("the listener reset a notification: %v", frame.ErrCode)
	}
	if err := p.sendWaiting(); err != nil {
		return err
	}
	return p.w.Flush()
}
