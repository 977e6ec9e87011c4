package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/h2surge/h2surge/test/harness"
)

// goClient is net/http's client in a process of its own: this program once more. It is that of quic-go for HTTP/3.
type goClient struct{ http3 bool }

func (c goClient) name() string {
	if c.http3 {
		return "quic-go http3"
	}
	return "Go net/http"
}

func (goClient) needs() tool { return tool{} }

func (goClient) command(b *lab, s *served, l load, seconds int) (harness.Command, error) {
	work, err := json.Marshal(goWork{URL: s.url(l), Seconds: seconds, Parallel: l.inFlight(), Requests: l.bound,
		Padding: l.padding, Unread: l.unread, HTTP3: l.protocol == h3})
	argv := []string{b.Self, "go-client", string(work)}
	return harness.Command{Argv: argv, Env: []string{"GOMAXPROCS=" + strconv.Itoa(max(1, l.maxProcs))}}, err
}

// goWork is the argument of the process.
type goWork struct {
	URL      string
	Seconds  int
	Parallel int64 // requests in flight
	Requests int64 // at most; 0: no bound
	Padding  int   // bytes of a header field
	Unread   bool  // the responses are neither read nor closed
	HTTP3    bool  `json:",omitempty"`
}

// goTold is what the process prints.
type goTold struct {
	Requests, Rejected, Connections int64
	Seconds                         float64
	Protocol, Suite                 string
	BytesPerOp, AllocsPerOp         float64
}

func (c goClient) parse(f harness.Finished) (measured, error) {
	if err := exited(c, f); err != nil {
		return measured{}, err
	}
	var t goTold
	if err := json.Unmarshal([]byte(f.Stdout), &t); err != nil {
		return measured{}, fmt.Errorf("client of Go: %w", err)
	}
	if t.Seconds <= 0 {
		return measured{}, errors.New("client of Go: no time has passed")
	}
	return measured{
		requests: t.Requests, rejected: t.Rejected, connections: t.Connections, suite: t.Suite,
		perSecond: float64(t.Requests) / t.Seconds,
		perOp:     perOp{bytes: t.BytesPerOp, allocs: t.AllocsPerOp},
	}, nil
}

// goRun is one run of Go's client.
type goRun struct {
	goWork
	client   *http.Client
	left     atomic.Int64 // requests that may still be sent
	deadline time.Time

	connections, requests, rejected atomic.Int64
	protocol, suite                 atomic.Value // strings, of the last response
}

// goClientMain sends as fast as it can until time or requests run out, and prints a goTold.
func goClientMain(args []string) error {
	var w goWork
	if err := json.Unmarshal([]byte(strings.Join(args, " ")), &w); err != nil {
		return fmt.Errorf("go-client: %w", err)
	}
	told, err := newGoRun(w).run()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}

func newGoRun(w goWork) *goRun {
	g := &goRun{goWork: w}
	g.left.Store(w.Requests)
	if w.Requests == 0 {
		g.left.Store(1 << 62)
	}
	if w.HTTP3 {
		g.client = &http.Client{Transport: &http3.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true, Dial: g.dialQUIC,
		}}
		return g
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	g.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			g.connections.Add(1)
			return dialer.DialContext(ctx, network, addr)
		},
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: int(w.Parallel),
		DisableCompression:  true,
	}}
	return g
}

func (g *goRun) dialQUIC(ctx context.Context, address string, secure *tls.Config, c *quic.Config) (*quic.Conn, error) {
	g.connections.Add(1)
	return quic.DialAddrEarly(ctx, address, secure, c)
}

// run counts memory as a Go benchmark does: all that the process allocated, over the requests.
func (g *goRun) run() (goTold, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	g.deadline = begin.Add(time.Duration(g.Seconds) * time.Second)
	failures := make(chan error, g.Parallel)
	var all sync.WaitGroup
	for range g.Parallel {
		all.Go(func() {
			if err := g.serial(); err != nil {
				failures <- err
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	close(failures)
	if err := <-failures; err != nil {
		return goTold{}, err
	}
	n := float64(max(1, g.requests.Load()))
	told := goTold{
		Requests: g.requests.Load(), Rejected: g.rejected.Load(), Connections: g.connections.Load(), Seconds: took.Seconds(),
		BytesPerOp: float64(after.TotalAlloc-before.TotalAlloc) / n, AllocsPerOp: float64(after.Mallocs-before.Mallocs) / n,
	}
	told.Protocol, _ = g.protocol.Load().(string)
	told.Suite, _ = g.suite.Load().(string)
	return told, nil
}

// serial sends one request after another.
func (g *goRun) serial() error {
	var scratch bytes.Buffer
	pad := strings.Repeat("x", g.Padding)
	for first := true; g.left.Add(-1) >= 0 && time.Now().Before(g.deadline); first = false {
		req, err := http.NewRequest(http.MethodGet, g.URL, nil)
		if err != nil {
			return err
		}
		if pad != "" {
			req.Header.Set("x-pad", pad)
		}
		resp, err := g.client.Do(req) //nolint:bodyclose // the published work leaves it open, and drain closes it else
		if err != nil {
			return err
		}
		g.requests.Add(1)
		if resp.StatusCode != http.StatusOK {
			g.rejected.Add(1)
		}
		if first {
			g.note(resp)
		}
		if g.Unread {
			continue
		}
		scratch.Reset()
		if err := drain(&scratch, resp.Body); err != nil {
			return err
		}
	}
	return nil
}

func drain(scratch *bytes.Buffer, body io.ReadCloser) error {
	_, err := scratch.ReadFrom(body)
	if closing := body.Close(); err == nil {
		err = closing
	}
	return err
}

func (g *goRun) note(resp *http.Response) {
	g.protocol.Store(resp.Proto)
	if resp.TLS != nil {
		g.suite.Store(suiteName(tls.VersionName(resp.TLS.Version), tls.CipherSuiteName(resp.TLS.CipherSuite)))
	}
}
