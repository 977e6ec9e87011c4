package mock

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
)

// start serves until the test ends, and fails it if Serve does.
func start(t *testing.T, opts Options, serve func(*Server, context.Context) error) *Server {
	t.Helper()
	s, stop := started(t, opts, serve)
	t.Cleanup(stop)
	return s
}

// started serves until stop is called, which fails the test if Serve does.
func started(t *testing.T, opts Options, serve func(*Server, context.Context) error) (s *Server, stop func()) {
	t.Helper()
	opts.Listen = "127.0.0.1:0"
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(s, ctx) }()
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// loops are the ways to serve.
var loops = map[string]func(*Server, context.Context) error{
	"loop": (*Server).Serve, "goroutines": (*Server).serveGoroutines,
}

// onBoth runs a test against the loop and against the goroutines.
func onBoth(t *testing.T, opts Options, test func(t *testing.T, s *Server)) {
	t.Helper()
	for name, serve := range loops {
		t.Run(name, func(t *testing.T) { test(t, start(t, opts, serve)) })
	}
}

// onAll runs a test as onBoth does, over each protocol.
func onAll(t *testing.T, opts Options, test func(t *testing.T, s *Server, c *http.Client)) {
	t.Helper()
	for name, client := range map[string]func(*testing.T) *http.Client{"h2": client, "http1": client1} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, opts, func(t *testing.T, s *Server) { test(t, s, client(t)) })
		})
	}
}

// client1 speaks HTTP/1.1.
func client1(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// client is x/net's: an implementation that is not ours.
func client(t *testing.T) *http.Client {
	tr := &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

type reply struct {
	Status   int
	Location string
	Length   string
	Body     string
}

func do(t *testing.T, c *http.Client, s *Server, method, path, body string) reply {
	t.Helper()
	r, err := try(t.Context(), c, s, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func try(ctx context.Context, c *http.Client, s *Server, method, path, body string) (reply, error) {
	return send(ctx, c, s, method, path, strings.NewReader(body))
}

func send(ctx context.Context, c *http.Client, s *Server, method, path string, body io.Reader) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.Addr().String()+path, body)
	if err != nil {
		return reply{}, err
	}
	res, err := c.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header.Get("Location"), res.Header.Get("Content-Length"), string(b)}, err
}

// checkSum checks the law of the counts.
func checkSum(t *testing.T, s *Server) Stats {
	t.Helper()
	st := s.Stats()
	sum := func(m map[string]uint64) (n uint64) {
		for _, v := range m {
			n += v
		}
		return n
	}
	perSecond := uint64(0)
	for _, n := range st.PerSecond {
		perSecond += n
	}
	if st.Requests != st.Answered+st.Unanswered+st.Aborted+st.Pending || st.Requests != sum(st.ByMethod) ||
		st.Answered != sum(st.ByStatus) || st.Requests != perSecond {
		t.Errorf("the counts do not add up: %+v", st)
	}
	return st
}

func TestResources(t *testing.T) {
	onAll(t, Options{}, func(t *testing.T, s *Server, c *http.Client) {
		got := do(t, c, s, "POST", "/npcf/v1/app-sessions/?x=y", `{"a":1}`)
		if !regexp.MustCompile(`^/npcf/v1/app-sessions/[0-9a-f]{16}$`).MatchString(got.Location) {
			t.Fatalf("location %q", got.Location)
		}
		at := got.Location
		got.Location = ""
		steps := []struct {
			method, path string
			want         reply
		}{
			{"GET", at, reply{200, "", "15", defaultBody}},
			{"HEAD", at, reply{200, "", "15", ""}},
			{"PATCH", at, reply{Status: 204}},
			{"PUT", at + "?x=y", reply{Status: 204}},
			{"PATCH", "/npcf/v1/app-sessions", reply{404, "", "0", ""}},
			{"DELETE", "/npcf/v1/app-sessions", reply{404, "", "0", ""}},
			{"OPTIONS", at, reply{405, "", "0", ""}},
			{"DELETE", at, reply{Status: 204}},
			{"GET", at, reply{404, "", "0", ""}},
			{"HEAD", at, reply{404, "", "0", ""}},
			{"PATCH", at, reply{404, "", "0", ""}},
			{"PUT", at, reply{404, "", "0", ""}},
			{"DELETE", at, reply{404, "", "0", ""}},
			{"GET", "/", reply{200, "", "15", defaultBody}},
			{"GET", "/anything", reply{200, "", "15", defaultBody}},
		}
		if diff := cmp.Diff(reply{201, "", "0", ""}, got); diff != "" {
			t.Errorf("POST (-want +got):\n%s", diff)
		}
		for _, step := range steps {
			if diff := cmp.Diff(step.want, do(t, c, s, step.method, step.path, "")); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", step.method, step.path, diff)
			}
		}
		st := checkSum(t, s)
		want := map[string]uint64{"GET": 4, "HEAD": 2, "POST": 1, "PUT": 2, "PATCH": 3, "DELETE": 3, "other": 1}
		if diff := cmp.Diff(want, st.ByMethod); diff != "" {
			t.Errorf("byMethod (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]uint64{"200": 4, "201": 1, "204": 3, "404": 7, "405": 1}, st.ByStatus); diff != "" {
			t.Errorf("byStatus (-want +got):\n%s", diff)
		}
		// Go's client of HTTP/1.1 can open another connection while it takes back the first one.
		_, one := c.Transport.(*http2.Transport)
		if st.Resources != 0 || st.Connections < 1 || one && (st.Connections != 1 || st.OpenConnections != 1) {
			t.Errorf("stats %+v", st)
		}
	})
}

// TestConcurrentChains: half of the clients speak HTTP/1.1.
func TestConcurrentChains(t *testing.T) {
	onBoth(t, Options{TrackBodies: true}, func(t *testing.T, s *Server) {
		const workers, chains = 20, 20
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]bool{}
		for w := range workers {
			c := client(t)
			if w%2 == 0 {
				c = client1(t)
			}
			wg.Go(func() {
				for i := range chains {
					body := strings.Repeat(fmt.Sprintf("%d-%d ", w, i), 1+i*1000)
					r, err := try(t.Context(), c, s, "POST", "/x", body)
					mu.Lock()
					if err != nil || seen[r.Location] {
						t.Errorf("POST: %+v, %v, or seen before", r, err)
					}
					seen[r.Location] = true
					mu.Unlock()
					for _, m := range []string{"PATCH", "GET", "DELETE"} {
						if r, err := try(t.Context(), c, s, m, r.Location, "x"); err != nil || r.Status >= 300 {
							t.Errorf("%s: %+v, %v", m, r, err)
						}
					}
				}
			})
		}
		wg.Wait()
		st := checkSum(t, s)
		// Go's client of HTTP/1.1 can open another connection while it takes back the first one.
		if st.Requests != 4*workers*chains || st.Answered != st.Requests || st.Connections < workers {
			t.Errorf("stats %+v", st)
		}
		if diff := cmp.Diff(&BodyStats{DistinctBodies: workers * chains}, st.BodyStats); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
	})
}

func TestBodySize(t *testing.T) {
	for _, c := range []struct{ size, want, patch int }{
		{0, len(defaultBody), 204}, {-1, 0, 204}, {5, 5, 200}, {1 << 20, 1 << 20, 200},
	} {
		onAll(t, Options{BodySize: c.size}, func(t *testing.T, s *Server, cl *http.Client) {
			if got := do(t, cl, s, "GET", "/", ""); len(got.Body) != c.want || got.Length != fmt.Sprint(c.want) {
				t.Errorf("size %d: %d octets, content-length %s", c.size, len(got.Body), got.Length)
			} else if c.size >= 0 && !json.Valid([]byte(got.Body)) {
				t.Errorf("size %d: no JSON: %.20s", c.size, got.Body)
			}
			at := do(t, cl, s, "POST", "/", "").Location
			if got := do(t, cl, s, "PATCH", at, ""); got.Status != c.patch || c.patch == 200 && len(got.Body) != c.want {
				t.Errorf("size %d: PATCH answers %d with %d octets", c.size, got.Status, len(got.Body))
			}
		})
	}
}

// TestFaults: with a fixed seed the numbers are the same for any order of arrival.
func TestFaults(t *testing.T) {
	onAll(t, Options{Unanswered: 0.2, NotFound: 0.3, Seed: 1}, func(t *testing.T, s *Server, c *http.Client) {
		// What the draws will be.
		f := newFaults(0.2, 0.3, 1)
		var want Stats
		const n = 200
		for range n {
			switch u, nf := f.draw(); {
			case u:
				want.Unanswered++
			case nf:
				want.Answered++
			default:
				want.Answered++
				want.Resources++
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		answers := make(chan error, n)
		for range n {
			go func() {
				_, err := try(ctx, c, s, "POST", "/x", "body")
				answers <- err
			}()
		}
		for range want.Answered {
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
		}
		waitFor(t, s, func(st Stats) bool { return st.Requests == n && st.Pending == 0 })
		st := checkSum(t, s)
		if st.Unanswered != want.Unanswered || st.Answered != want.Answered || st.Resources != want.Resources ||
			st.ByStatus["201"] != want.Resources || st.ByStatus["404"] != want.Answered-want.Resources {
			t.Errorf("stats %+v, want %+v", st, want)
		}
		cancel()
		for range want.Unanswered {
			if err := <-answers; !errors.Is(err, context.Canceled) {
				t.Errorf("an unanswered request got %v", err)
			}
		}
		if _, ok := c.Transport.(*http2.Transport); ok {
			waitFor(t, s, func(st Stats) bool { return st.Resets == want.Unanswered })
		} else {
			c.CloseIdleConnections()
			waitFor(t, s, func(st Stats) bool { return st.OpenConnections == 0 })
		}
		if st := checkSum(t, s); st.Aborted != 0 {
			t.Errorf("resets of unanswered requests count as aborted: %+v", st)
		}
	})
}

// waitFor polls, since nothing tells when a server has read something.
func waitFor(t *testing.T, s *Server, ok func(Stats) bool) {
	t.Helper()
	for range 2000 {
		if ok(s.Stats()) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("still %+v", s.Stats())
}

func TestLatency(t *testing.T) {
	const latency = 50 * time.Millisecond
	onAll(t, Options{Latency: latency}, func(t *testing.T, s *Server, c *http.Client) {
		for range 3 {
			begin := time.Now()
			if got := do(t, c, s, "POST", "/x", ""); got.Status != 201 {
				t.Fatal(got)
			}
			if took := time.Since(begin); took < latency {
				t.Errorf("answered after %v, want %v or more", took, latency)
			}
		}
		checkSum(t, s)
	})
}

func TestLatencyAborted(t *testing.T) {
	testAborted(t, Options{Latency: time.Minute})
}

// TestStall: the stall begins a nanosecond after the server, so no request is answered. TestDelayDue tests its end.
func TestStall(t *testing.T) {
	testAborted(t, Options{Stall: Stall{For: time.Hour - 1, Every: time.Hour}})
}

// testAborted checks that what is reset while it waits is counted so, and that no answer follows.
func testAborted(t *testing.T, opts Options) {
	t.Helper()
	onAll(t, opts, func(t *testing.T, s *Server, c *http.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 5)
		for range 5 {
			go func() {
				_, err := try(ctx, c, s, "POST", "/x", "")
				failed <- err
			}()
		}
		waitFor(t, s, func(st Stats) bool { return st.Pending == 5 })
		cancel()
		for range 5 {
			if err := <-failed; err == nil {
				t.Error("an aborted request succeeded")
			}
		}
		waitFor(t, s, func(st Stats) bool { return st.Aborted == 5 && st.Pending == 0 })
		if st := checkSum(t, s); st.Answered != 0 {
			t.Errorf("stats %+v", st)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.exchanges.n != s.waiting.Len() || s.waiting.Len() > 5 {
			t.Errorf("%d exchanges are in use, %d in the queue", s.exchanges.n, s.waiting.Len())
		}
	})
}

func TestStatsHandler(t *testing.T) {
	s := start(t, Options{TrackBodies: true}, (*Server).Serve)
	c := client(t)
	do(t, c, s, "POST", "/x", "same")
	do(t, c, s, "POST", "/x", "same")
	web := httptest.NewServer(s.StatsHandler())
	defer web.Close()
	get := func() map[string]any {
		res, err := http.Get(web.URL + "/stats")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var m map[string]any
		if err := json.NewDecoder(res.Body).Decode(&m); err != nil || res.Header.Get("Content-Type") != "application/json" {
			t.Fatal(err, res.Header)
		}
		return m
	}
	res, err := http.Get(web.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	const requests = "# TYPE h2surge_target_requests_total counter\nh2surge_target_requests_total 2\n"
	if err != nil || !strings.Contains(string(page), requests) ||
		!strings.Contains(string(page), "counter\nprocess_cpu_seconds_total ") {
		t.Errorf("metrics %s, %v", page, err)
	}
	m := get()
	for key, want := range map[string]any{
		"requests": 2.0, "answered": 2.0, "unanswered": 0.0, "pending": 0.0, "aborted": 0.0,
		"connections": 1.0, "resets": 0.0,
		"byMethod": map[string]any{"POST": 2.0}, "byStatus": map[string]any{"201": 2.0},
		"distinctBodies": 1.0, "repeatedBodies": 1.0, "resources": 2.0,
	} {
		if diff := cmp.Diff(want, m[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	res, err = http.Post(web.URL+"/reset", "", nil)
	if err != nil || res.StatusCode != http.StatusNoContent {
		t.Fatal(res, err)
	}
	res.Body.Close()
	m = get()
	for key, want := range map[string]any{
		"requests": 0.0, "byMethod": map[string]any{}, "perSecond": []any{}, "distinctBodies": 0.0,
		"resources": 2.0, "openConnections": 1.0,
	} {
		if diff := cmp.Diff(want, m[key]); diff != "" {
			t.Errorf("after the reset: %s (-want +got):\n%s", key, diff)
		}
	}
}

// TestResetInFlight: what came before a reset is not counted after it.
func TestResetInFlight(t *testing.T) {
	s := start(t, Options{}, (*Server).Serve)
	c := client(t)
	body, end := io.Pipe()
	done := make(chan reply, 1)
	go func() {
		r, _ := send(t.Context(), c, s, "POST", "/", body)
		done <- r
	}()
	waitFor(t, s, func(st Stats) bool { return st.Pending == 1 })
	s.Reset()
	_ = end.Close() // the answer follows
	if r := <-done; r.Status != 201 {
		t.Errorf("answer %+v", r)
	}
	if st := checkSum(t, s); st.Requests != 0 || st.Answered != 0 || st.Pending != 0 {
		t.Errorf("stats %+v", st)
	}
}

// TestOtherProtocols: a connection that breaks its protocol gets the reason in this protocol, and is closed.
func TestOtherProtocols(t *testing.T) {
	onBoth(t, Options{}, func(t *testing.T, s *Server) {
		for in, reason := range map[string]string{
			"PRI * HTTP/1.1\r\n\r\n":                   "HTTP/1.1 400 ",
			"\x16\x03\x01 TLS\n\n":                     "HTTP/1.1 400 ",
			"GET / HTTP/1.1\r\n\r\n":                   "HTTP/1.1 400 ",    // no host
			"PRI * HTTP/2.0\r\n\r\nGET":                "\x00\x00\x12\x04", // SETTINGS
			http2.ClientPreface + "GET / HTTP/1.1\r\n": "\x07\x00\x00\x00\x00\x00",
		} {
			nc, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(nc, in); err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(nc) // ends when the server closes
			if err != nil {
				t.Errorf("%.20q: %v", in, err)
			}
			if !strings.Contains(string(out), reason) {
				t.Errorf("%.20q: %q, want %q", in, out, reason)
			}
		}
		waitFor(t, s, func(st Stats) bool { return st.ConnectionErrors == 5 && st.OpenConnections == 0 })
		checkSum(t, s)
	})
}

func TestStreamLimit(t *testing.T) {
	onBoth(t, Options{MaxConcurrentStreams: 2, Unanswered: 1}, func(t *testing.T, s *Server) {
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
		fr := http2.NewFramer(nc, nc)
		if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		_ = fr.WriteSettings()
		for id := uint32(1); id <= 5; id += 2 {
			_ = fr.WriteHeaders(http2.HeadersFrameParam{
				StreamID: id, BlockFragment: []byte{0x82, 0x86, 0x84}, EndStream: true, EndHeaders: true,
			})
		}
		for {
			f, err := fr.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if st, ok := f.(*http2.SettingsFrame); ok && !st.IsAck() {
				if v, _ := st.Value(http2.SettingMaxConcurrentStreams); v != 2 {
					t.Errorf("%d concurrent streams are announced, want 2", v)
				}
			}
			if rst, ok := f.(*http2.RSTStreamFrame); ok {
				if rst.StreamID != 5 || rst.ErrCode != http2.ErrCodeRefusedStream {
					t.Errorf("%v", rst)
				}
				break
			}
		}
		if st := checkSum(t, s); st.Requests != 2 || st.Unanswered != 2 || st.Refused != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestShutdownSendsGoAway(t *testing.T) {
	for name, serve := range loops {
		t.Run(name, func(t *testing.T) {
			s, stop := started(t, Options{}, serve)
			nc, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
				t.Fatal(err)
			}
			waitFor(t, s, func(st Stats) bool { return st.BytesReceived == uint64(len(http2.ClientPreface)) })
			stopped := make(chan struct{})
			go func() { stop(); close(stopped) }()
			fr := http2.NewFramer(nil, nc)
			for goAway := false; ; {
				f, err := fr.ReadFrame()
				if err != nil {
					if !goAway {
						t.Errorf("no GOAWAY before %v", err)
					}
					break
				}
				_, ok := f.(*http2.GoAwayFrame)
				goAway = goAway || ok
			}
			nc.Close()
			<-stopped
			if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
				t.Error("the address still takes connections")
			}
			if st := s.Stats(); st.OpenConnections != 0 {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

func TestListenFails(t *testing.T) {
	s, err := New(Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if other, err := New(Options{Listen: s.Addr().String()}); err == nil {
		other.Close()
		t.Error("two servers listen on one address")
	}
}

// TestClientThatDoesNotRead sends requests whose answers fill all buffers, then reads.
func TestClientThatDoesNotRead(t *testing.T) {
	onBoth(t, Options{}, func(t *testing.T, s *Server) {
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(60 * time.Second))
		_ = nc.(*net.TCPConn).SetReadBuffer(64 << 10) // leaves the server's own buffers to fill
		const n = 8000
		path := "/" + strings.Repeat("~", 2000)
		block := []byte{0x83, 0x86, 0x04, 0x7f} // POST, http, a literal :path
		block = append(block, 0xd2, 0x0e)       // 2001 = 127 + 1874
		block = append(block, path...)
		sent := make(chan error, 1)
		go func() {
			fr := http2.NewFramer(nc, nil)
			if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
				sent <- err
				return
			}
			err := fr.WriteSettings()
			for id := uint32(1); id < 2*n && err == nil; id += 2 {
				err = fr.WriteHeaders(http2.HeadersFrameParam{
					StreamID: id, BlockFragment: block, EndStream: true, EndHeaders: true,
				})
			}
			sent <- err
		}()
		// Some megabytes of answers wait; then reading stops, and more stay unread.
		last := uint64(0)
		waitFor(t, s, func(st Stats) bool {
			stopped := st.Requests > 0 && st.Requests == last
			last = st.Requests
			return stopped
		})
		if last == n {
			t.Error("the server took all requests, and keeps all answers")
		}
		fr := http2.NewFramer(nil, nc)
		for answers := 0; answers < n; {
			f, err := fr.ReadFrame()
			if err != nil {
				t.Fatalf("after %d answers: %v", answers, err)
			}
			if _, ok := f.(*http2.HeadersFrame); ok {
				answers++
			}
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		if st := checkSum(t, s); st.Answered != n {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestLongPath(t *testing.T) {
	s := start(t, Options{}, (*Server).Serve)
	c := client(t)
	long := strings.Repeat("/x", maxPath/2)
	at := do(t, c, s, "POST", long, "")
	if at.Status != 201 || !strings.HasPrefix(at.Location, long+"/") ||
		do(t, c, s, "DELETE", at.Location, "").Status != 204 {
		t.Errorf("a path of the longest kind: %+v", at)
	}
	if got := do(t, c, s, "POST", long+"/", ""); got.Status != 414 {
		t.Errorf("a longer one: %+v", got)
	}
	checkSum(t, s)
}

func TestPendingIsBounded(t *testing.T) {
	s := start(t, Options{}, (*Server).Serve)
	s.mu.Lock()
	s.exchanges.n += maxExchanges // as if so many waited
	s.mu.Unlock()
	c := client(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { // x/net's client tries again by itself
		_, err := try(ctx, c, s, "POST", "/x", "")
		failed <- err
	}()
	waitFor(t, s, func(st Stats) bool { return st.Refused > 0 })
	cancel()
	if err := <-failed; err == nil {
		t.Error("a request over the bound got an answer")
	}
	if st := checkSum(t, s); st.Requests != 0 {
		t.Errorf("refused requests count: %+v", st)
	}
}
