package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/h2surge/h2surge/test/harness"
)

// compileFloor returns the program with the sanitizers of the C compiler, if it has them.
func compileFloor(t *testing.T, p protocol) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil || runtime.GOOS != "linux" {
		t.Skip("the floor needs Linux and cc")
	}
	dir := t.TempDir()
	compile := func(source string, flags ...string) error {
		file := dir + "/floor.c"
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("cc", append([]string{"-O1", "-Wall", "-Wextra", "-Werror", "-o", dir + "/floor", file}, flags...)...).CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		return err
	}
	var flags []string
	if p == h2 {
		flags = []string{"-DTLS", "-lssl", "-lcrypto"}
		if compile("#include <openssl/ssl.h>\nint main(void) { return SSL_new(NULL) != NULL; }", flags...) != nil {
			t.Skip("no libssl-dev")
		}
	}
	const empty = "int main(void) { return 0; }"
	if sanitize := "-fsanitize=address,undefined"; compile(empty, sanitize) == nil {
		flags = append(flags, sanitize, "-fno-sanitize-recover=all")
	}
	if compile(string(floorSource), flags...) != nil {
		t.Fatal("floor.c does not compile")
	}
	return dir + "/floor"
}

func runFloor(t *testing.T, program string, args ...string) harness.Finished {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // its exit code shows what went wrong
	return harness.Finished{Stdout: out.String(), Stderr: errs.String(), Code: c.ProcessState.ExitCode()}
}

type floorWork struct {
	mode, path                 string
	connections, streams, rate int
}

func floorArgs(w floorWork, address string, milliseconds int) []string {
	host, port, _ := net.SplitHostPort(address)
	return []string{w.mode, host, port, w.path, strconv.Itoa(w.connections), strconv.Itoa(w.streams), strconv.Itoa(w.rate), strconv.Itoa(milliseconds)}
}

func TestFloor(t *testing.T) {
	program := compileFloor(t, h2c)
	t.Run("counts", func(t *testing.T) { testFloorCounts(t, program) })
	t.Run("frames", func(t *testing.T) { testFloorFrames(t, program) })
	t.Run("ends", func(t *testing.T) { testFloorEnds(t, program) })
	t.Run("arguments", func(t *testing.T) { testFloorArguments(t, program) })
}

func TestFloorTLS(t *testing.T) {
	program := compileFloor(t, h2)
	server := &floorServer{}
	s := httptest.NewUnstartedServer(server)
	s.EnableHTTP2 = true
	s.StartTLS()
	m := server.compare(t, s, program, floorWork{"h2", "/some", 2, 10, 0})
	if !strings.HasPrefix(m.suite, "TLS 1.3 TLS_") {
		t.Errorf("suite %q", m.suite)
	}
}

// floorServer answers a third of the requests for /some with 404.
type floorServer struct{ received, missing atomic.Int64 }

func (f *floorServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n := f.received.Add(1); r.URL.Path == "/some" && n%3 == 0 {
		f.missing.Add(1)
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Length", "100000") // several frames and reads
	_, _ = w.Write(make([]byte, 100000))
}

// compare runs the floor, ends its server, and compares their counts. They may differ by the requests in flight.
func (f *floorServer) compare(t *testing.T, s *httptest.Server, program string, w floorWork) measured {
	t.Helper()
	var told harness.Finished
	var m measured
	for milliseconds := 200; m.requests == 0; milliseconds *= 10 { // a machine may be too busy for the first response
		var err error
		told = runFloor(t, program, floorArgs(w, s.Listener.Addr().String(), milliseconds)...)
		if m, err = (floor{}).parse(told); err != nil {
			t.Fatal(err)
		}
	}
	s.Close() // waits for the handlers
	received, missing := f.received.Load(), f.missing.Load()
	most := int64(w.connections * w.streams)
	if m.perSecond <= 0 || received < m.requests || received > m.requests+most {
		t.Errorf("%s, and the server received %d", told.Stdout, received)
	}
	if m.rejected > missing+m.unanswered || m.rejected+most < missing {
		t.Errorf("%s, and the server answered %d with 404", told.Stdout, missing)
	}
	if sent := m.requests + m.unanswered; w.rate > 0 && float64(sent) != math.Round(float64(m.requests)/m.perSecond*float64(w.rate)) {
		t.Errorf("%s, want %d a second", told.Stdout, w.rate)
	}
	return m
}

func testFloorCounts(t *testing.T, program string) {
	for name, w := range map[string]floorWork{
		"h2c":             {"h2c", "/", 3, 20, 0},
		"h2c, one stream": {"h2c", "/", 3, 1, 0},
		"h2c, more streams than the server allows": {"h2c", "/some", 1, 1000, 0},
		"h2c, fixed rate":                          {"h2c", "/some", 2, 250, 1000}, // one connection can have all requests
		"HTTP/1.1":                                 {"http1", "/some", 4, 1, 0},
		"HTTP/1.1 without keep-alive":              {"http1-close", "/some", 4, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := &floorServer{}
			s := httptest.NewUnstartedServer(server)
			s.Config.Protocols = &http.Protocols{}
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			if m := server.compare(t, s, program, w); m.suite != "" {
				t.Errorf("suite %q", m.suite)
			}
		})
	}
}

// fragments writes a few octets at a time, so that the peer reads frames in parts.
type fragments struct {
	net.Conn
	n int
}

func (w *fragments) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		w.n = w.n%11 + 1
		k := min(w.n, len(p)-i)
		if _, err := w.Conn.Write(p[i : i+k]); err != nil {
			return i, err
		}
		i += k
	}
	return len(p), nil
}

// varied is an HTTP/2 server whose responses differ in their frames. It allows three requests at a time, and answers the last one first.
type varied struct {
	answers, failures, settings, pings atomic.Int64
}

func (v *varied) serve(c net.Conn, leaves bool) error {
	defer func() { _ = c.Close() }()
	if _, err := io.CopyN(io.Discard, c, int64(len(http2.ClientPreface))); err != nil {
		return err
	}
	f := http2.NewFramer(&fragments{Conn: c}, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteRawFrame(0x20, 0xff, 0, []byte("of an unknown type")) // errors return with the next one
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3})
	_ = f.WritePing(false, [8]byte{1, 2, 3})
	_ = f.WriteWindowUpdate(0, 10)
	var open []uint32
	for answered := 0; ; {
		frame, err := f.ReadFrame()
		if err != nil {
			return nil // the client ends when it wants
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if frame.IsAck() {
				v.settings.Add(1)
			}
		case *http2.PingFrame:
			if frame.IsAck() && frame.Data == [8]byte{1, 2, 3} {
				v.pings.Add(1)
			}
		case *http2.MetaHeadersFrame:
			if frame.PseudoValue("method") != "GET" || frame.PseudoValue("path") != "/x" || frame.PseudoValue("scheme") != "http" ||
				frame.PseudoValue("authority") != c.LocalAddr().String() || !frame.StreamEnded() {
				return fmt.Errorf("a request with %v", frame.Fields)
			}
			open = append(open, frame.StreamID)
		}
		if len(open) > 3 {
			return fmt.Errorf("%d requests are open", len(open))
		}
		if len(open) < 3 {
			continue
		}
		if answered > 20 && leaves { // the first two will be answered
			_ = f.WriteGoAway(open[1], http2.ErrCodeNo, nil)
			open = open[:2]
		}
		for ; len(open) > 0; open = open[:len(open)-1] {
			v.answers.Add(1)
			if v.answer(f, open[len(open)-1], answered) != nil {
				return nil
			}
			answered++
		}
		if answered > 21 && leaves {
			return nil
		}
	}
}

func (v *varied) answer(f *http2.Framer, id uint32, n int) error {
	head := http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0x88}, EndHeaders: true}
	switch n % 7 {
	case 0:
		head.EndStream = true
		return f.WriteHeaders(head)
	case 1:
		head.PadLength = 9
		_ = f.WriteHeaders(head)
		return f.WriteDataPadded(id, true, []byte("content"), make([]byte, 200))
	case 2:
		head.EndHeaders = false
		_ = f.WriteHeaders(head)
		_ = f.WriteContinuation(id, true, []byte{0x0f, 0x0d, 0x01, '0'})
		return f.WriteData(id, true, nil)
	case 3:
		v.failures.Add(1)
		head.BlockFragment, head.EndStream = []byte{0x8d}, true // 404
		return f.WriteHeaders(head)
	case 4:
		v.failures.Add(1)
		return f.WriteRSTStream(id, http2.ErrCodeInternal)
	case 5:
		head.BlockFragment = []byte{0x20, 0x3f, 0xe1, 0x1f, 0x88} // after two updates of the table's size
		_ = f.WriteHeaders(head)
		_ = f.WriteData(id, false, make([]byte, 16384))
		_ = f.WriteData(id, false, make([]byte, 1))
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0, 1, 'a', 1, 'b'}, EndHeaders: true, EndStream: true})
	}
	head.Priority, head.EndStream = http2.PriorityParam{StreamDep: 1, Weight: 7}, true
	return f.WriteHeaders(head)
}

// listen serves each connection to a port with the number of the connection.
func listen(t *testing.T, serve func(c net.Conn, n int)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(c, n) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return l.Addr().String()
}

// testFloorFrames: the first connection ends with GOAWAY, and the second one when the floor ends.
func testFloorFrames(t *testing.T, program string) {
	for milliseconds := 300; milliseconds <= 30_000; milliseconds *= 10 {
		v := &varied{}
		wrong := make(chan error, 2)
		address := listen(t, func(c net.Conn, n int) { wrong <- v.serve(c, n == 0) })
		m, err := floor{}.parse(runFloor(t, program, floorArgs(floorWork{"h2c", "/x", 2, 10, 0}, address, milliseconds)...))
		for range 2 {
			err = errors.Join(err, <-wrong)
		}
		if err != nil {
			t.Fatal(err)
		}
		const inFlight = 3 // of the second connection
		for what, counts := range map[string][2]int64{"responses": {m.requests, v.answers.Load()}, "failures": {m.rejected, v.failures.Load()}} {
			if got, sent := counts[0], counts[1]; got > sent || got < sent-inFlight {
				t.Errorf("%d %s, the server sent %d", got, what, sent)
			}
		}
		if v.settings.Load() == 2 && v.pings.Load() == 2 {
			return
		} // else the machine was too busy
	}
	t.Error("SETTINGS or PING is not acknowledged")
}

// testFloorEnds: a server that breaks the protocol is an error.
func testFloorEnds(t *testing.T, program string) {
	const beforeRequest = 24 + (9 + 12) + (9 + 4) + 9 // the preface, SETTINGS, WINDOW_UPDATE, and the other SETTINGS frame
	const settings, head = "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "HTTP/1.1 200 OK\r\n"
	for _, tc := range []struct{ mode, response, want string }{
		{"h2c", "", "ended a connection with 0 requests in flight"},
		{"h2c", settings, "ended a connection with 1 requests in flight"},
		{"h2c", "HTTP/1.1 400 Bad Request\r\n\r\n", "a frame of 4740180 octets"},
		{"h2c", settings + "\x00\x00\x01\x01\x04\x00\x00\x00\x03\x88", "a frame of stream 3, which is not open"},
		{"h2c", settings + "\x00\x00\x01\x00\x00\x00\x00\x00\x00x", "a frame of stream 0"},
		{"h2c", settings + "\x00\x00\x03\x01\x28\x00\x00\x00\x01abc", "HEADERS of 3 octets"},
		{"h2c", "\x00\x00\x07\x06\x00\x00\x00\x00\x001234567", "a frame of type 6 and 7 octets"},
		{"h2c", "\x00\x00\x04\x05\x04\x00\x00\x00\x00\x00\x00\x00\x02", "a frame of type 5"},
		{"h2c", "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b", "GOAWAY with error 11"},
		{"h2c", settings + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "the server ended all connections"},
		{"h2c", settings + strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", 2000), "more control frames than it reads"},
		{"http1", "", "ended a connection with 1 requests in flight"},
		{"http1", head + "Content-Length: 10\r\n\r\nx", "ended a connection with 1 requests in flight"},
		{"http1", head + "Content-Length-Not: 1\r\nX:\r\n\r\n", "without Content-Length"},
		{"http1", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "not a response of HTTP/1.1"},
		{"http1", head + "X: " + strings.Repeat("x", 1<<15), "a head of more than"},
		{"http1", head + "Content-Length: 0\r\n\r\n" + head + "Content-Length: 0\r\n\r\n", "not a response of HTTP/1.1 to a request"},
	} {
		address := listen(t, func(c net.Conn, _ int) {
			defer func() { _ = c.Close() }()
			response, awaits := strings.CutPrefix(tc.response, settings)
			if awaits { // the first request, before the rest
				_, _ = io.WriteString(c, settings)
				_, _ = io.CopyN(io.Discard, c, beforeRequest)
			}
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, response)
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
		})
		f := runFloor(t, program, floorArgs(floorWork{tc.mode, "/", 1, 1, 0}, address, 10_000)...)
		if f.Code != 1 || !strings.Contains(f.Stderr, tc.want) || f.Stdout != "" {
			t.Errorf("%s, %.40q: code %d, %q, %q, want %q", tc.mode, tc.response, f.Code, f.Stdout, f.Stderr, tc.want)
		}
	}
}

func testFloorArguments(t *testing.T, program string) {
	good := strings.Fields("h2c 127.0.0.1 1 / 1 1 0 1")
	for _, tc := range []struct {
		n     int // of the argument that is replaced
		value string
		want  string
	}{
		{0, "http2", "MODE: http2; allowed: h2c, h2, http1, http1-close"},
		{0, "h2", "-DTLS"},
		{1, "localhost", "IPV4: localhost"},
		{2, "0", "PORT: 0; allowed: 1 to 65535"},
		{3, "x", "PATH: x; allowed"},
		{3, "/" + strings.Repeat("x", 100), "PATH"},
		{4, "1025", "CONNECTIONS: 1025; allowed: 1 to 1024"},
		{4, "", "CONNECTIONS: ; allowed"},
		{5, "1x", "STREAMS: 1x; allowed"},
		{6, "-1", "RATE: -1; allowed"},
		{6, "99999999999999999999", "RATE"},
		{7, "0", "MILLISECONDS: 0; allowed"},
		{2, "1", "Connection refused"}, // all are good
	} {
		args := slices.Clone(good)
		args[tc.n] = tc.value
		if f := runFloor(t, program, args...); f.Code != 1 || !strings.Contains(f.Stderr, tc.want) {
			t.Errorf("%q: code %d, %q, want %q", args, f.Code, f.Stderr, tc.want)
		}
	}
	if f := runFloor(t, program, good[1:]...); f.Code != 1 || !strings.Contains(f.Stderr, "usage: ") {
		t.Errorf("an argument is missing: code %d, %q", f.Code, f.Stderr)
	}
	if f := runFloor(t, program, "http1", "127.0.0.1", "1", "/", "1", "2", "0", "1"); f.Code != 1 || !strings.Contains(f.Stderr, "STREAMS: 2; allowed: 1 to 1") {
		t.Errorf("HTTP/1.1 with streams: code %d, %q", f.Code, f.Stderr)
	}
}

func TestLacksFloor(t *testing.T) {
	b := &lab{Lab: harness.Lab{Ctx: t.Context(), Dir: t.TempDir()}}
	t.Setenv("PATH", "")
	if err := b.buildFloor(); err != nil {
		t.Fatal(err)
	}
	if plain, secure := b.lacksFloor(http1), b.lacksFloor(h2); plain != "no cc" || secure != "no cc or libssl-dev" {
		t.Errorf("%q and %q", plain, secure)
	}
	if err := os.WriteFile(b.floorFile(h2c), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if plain, secure := b.lacksFloor(http1), b.lacksFloor(h2); plain != "" || secure == "" {
		t.Errorf("%q and %q", plain, secure)
	}
}
