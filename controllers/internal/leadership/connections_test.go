package leadership

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// base is a transport to an API server that can be away.
type base struct {
	mu    sync.Mutex
	code  int // of the answers; zero: there is none
	paths map[string]int
}

var errAway = errors.New("connection refused")

func (b *base) set(code int) { b.mu.Lock(); defer b.mu.Unlock(); b.code = code }

func (b *base) count(path string) int { b.mu.Lock(); defer b.mu.Unlock(); return b.paths[path] }

func (b *base) RoundTrip(req *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paths == nil {
		b.paths = map[string]int{}
	}
	b.paths[req.URL.Path]++
	if b.code == 0 {
		return nil, errAway
	}
	return &http.Response{StatusCode: b.code, Body: io.NopCloser(strings.NewReader("ok"))}, nil
}

// send makes a request and returns how long it took and its result.
func send(ctx context.Context, t *testing.T, rt http.RoundTripper) (time.Duration, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/apis", nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	resp, err := rt.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return time.Since(begin), err
}

// TestRequestsWait: an error comes when the API server answers again, so that an informer has one error and not many.
func TestRequestsWait(t *testing.T) {
	for name, code := range map[string]int{"ready": 200, "refuses the probe": 401} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &base{}
				rt := &transport{b, NewConnections(logr.Discard())}
				go func() {
					time.Sleep(105*time.Second + 300*time.Millisecond)
					b.set(code)
				}()
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() {
						d, err := send(t.Context(), t, rt)
						if !errors.Is(err, errAway) || d < 105*time.Second || d > 105*time.Second+2*probeInterval {
							t.Errorf("the request took %s, %v; want the error soon after 105 s", d, err)
						}
					})
				}
				all.Wait()
				if d, err := send(t.Context(), t, rt); d != 0 || err != nil {
					t.Errorf("the next request took %s, %v", d, err)
				}
				if n := b.count("/readyz"); n > 107 {
					t.Errorf("%d probes in 105 s", n)
				}
			})
		})
	}
}

// TestServerStarts: an API server that is not ready yet does not count as back.
func TestServerStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &base{}
		rt := &transport{b, NewConnections(logr.Discard())}
		go func() {
			time.Sleep(10 * time.Second)
			b.set(500)
			time.Sleep(10 * time.Second)
			b.set(200)
		}()
		if d, err := send(t.Context(), t, rt); err == nil || d < 20*time.Second || d > 20*time.Second+2*probeInterval {
			t.Errorf("the request took %s, %v; want the error soon after 20 s", d, err)
		}
	})
}

// TestRequestsEnd: a request whose context ends does not wait, and no probe runs without one that does.
func TestRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &base{}
		rt := &transport{b, NewConnections(logr.Discard())}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if d, err := send(ctx, t, rt); d != 5*time.Second || !errors.Is(err, errAway) {
			t.Errorf("the request took %s, %v; want 5 s", d, err)
		}
		time.Sleep(time.Minute)
		if n := b.count("/readyz"); n > 8 {
			t.Errorf("%d probes, want none after the request", n)
		}
		b.set(200)
		if d, err := send(t.Context(), t, rt); d != 0 || err != nil {
			t.Errorf("the next request took %s, %v", d, err)
		}
	})
}
