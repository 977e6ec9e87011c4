package livepage

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/render"
)

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		given  string
		remote bool
		want   string
		err    string
	}{
		{given: "", want: "127.0.0.1:0"},
		{given: "8089", want: "127.0.0.1:8089"},
		{given: "localhost:8089", want: "127.0.0.1:8089"},
		{given: "127.8.0.1:1", want: "127.8.0.1:1"},
		{given: "[::1]:0", want: "[::1]:0"},
		{given: "0.0.0.0:8089", err: `other machines can reach "0.0.0.0"`},
		{given: ":8089", err: "other machines can reach"},
		{given: "[::]:8089", err: "other machines can reach"},
		{given: "10.0.0.1:8089", err: "other machines can reach"},
		{given: "build.example:8089", err: "other machines can reach"},
		{given: "0.0.0.0:8089", remote: true, want: "0.0.0.0:8089"},
		{given: ":8089", remote: true, want: ":8089"},
		{given: "build.example:8089", remote: true, want: "build.example:8089"},
		{given: "65536", err: "is not a port"},
		{given: "127.0.0.1:http", err: "is not a port"},
		{given: "a:b:c", err: "is not an address"},
	} {
		got, err := Address(tt.given, tt.remote)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q, remote %t: %q, %v, want %q, %q", tt.given, tt.remote, got, err, tt.want, tt.err)
		}
	}
}

// running is the view of a test that has sent n requests.
func running(n int64) func() (View, error) {
	return func() (View, error) {
		return View{Report: &rv.Report{Name: "default/t", Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: n}}}, Live: &render.Live{Phase: "Running", Detail: "stage hold"}}, nil
	}
}

func newServer() *Server { return &Server{boot: 7, seen: make(chan struct{})} }

// get sends a request; header are names and values.
func get(s *Server, method, url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestRequests(t *testing.T) {
	local, remote := newServer(), newServer()
	remote.remote = true
	for _, s := range []*Server{local, remote} {
		s.Show(running(12))
	}
	for _, tt := range []struct {
		server      *Server
		method, url string
		want        int
	}{
		{local, "GET", "http://127.0.0.1:8089/", 200},
		{local, "HEAD", "http://127.0.0.1:8089/", 200},
		{local, "GET", "http://localhost:8089/report.json", 200},
		{local, "GET", "http://[::1]:8089/", 200},
		{local, "GET", "http://evil.example/", 403}, // DNS rebinding
		{local, "GET", "http://evil.example:8089/report.json", 403},
		{local, "GET", "http://127.0.0.1.evil.example/", 403},
		{local, "GET", "http://10.0.0.1:8089/", 403},
		{remote, "GET", "http://10.0.0.1:8089/", 200},
		{remote, "GET", "http://evil.example:8089/", 403},
		{local, "POST", "http://127.0.0.1:8089/", 405},
		{local, "DELETE", "http://127.0.0.1:8089/report.json", 405},
		{local, "GET", "http://127.0.0.1:8089/../etc/passwd", 404},
		{local, "GET", "http://127.0.0.1:8089/other", 404},
	} {
		w := get(tt.server, tt.method, tt.url)
		if w.Code != tt.want || w.Header().Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s %s: %d, want %d, with header %v", tt.method, tt.url, w.Code, tt.want, w.Header())
		}
		if w.Code != 200 && strings.Contains(w.Body.String(), "default/t") {
			t.Errorf("%s %s: the refusal contains the report", tt.method, tt.url)
		}
	}
}

// TestStates: a page is new once for each state, and rendered once.
func TestStates(t *testing.T) {
	const url = "http://127.0.0.1/"
	s := newServer()
	if w := get(s, "GET", url); w.Code != 503 {
		t.Errorf("before the first state: %d", w.Code)
	}
	var rendered atomic.Int64
	s.Show(func() (View, error) {
		rendered.Add(1)
		return running(4321)()
	})
	w := get(s, "GET", url)
	if !strings.Contains(w.Body.String(), "<main data-live>") || !strings.Contains(w.Body.String(), "connect-src &#39;self&#39;") {
		t.Errorf("page of a running test:\n%.400s", w.Body.String())
	}
	tag := w.Header().Get("ETag")
	if w := get(s, "GET", url, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("the same state: %d with %d bytes", w.Code, w.Body.Len())
	}
	if w := get(s, "GET", url+"report.json"); !strings.Contains(w.Body.String(), `"sent": 4321`) || rendered.Load() != 1 {
		t.Errorf("rendered %d times, JSON %.200s", rendered.Load(), w.Body.String())
	}
	s.Show(func() (View, error) { return View{}, errors.New("cannot be read") })
	if w := get(s, "GET", url); w.Code != 503 || !strings.Contains(w.Body.String(), "cannot be read") {
		t.Errorf("a state that cannot be rendered: %d %s", w.Code, w.Body.String())
	}
	s.Finish(&rv.Report{Name: "default/t"})
	w = get(s, "GET", url, "If-None-Match", tag)
	if w.Code != 200 || strings.Contains(w.Body.String(), "data-live") || strings.Contains(w.Body.String(), "connect-src") || w.Header().Get("ETag") == tag {
		t.Errorf("final page: %d", w.Code)
	}
}

// TestClose waits for a browser that shows the page, and only for one.
func TestClose(t *testing.T) {
	const url = "http://127.0.0.1/"
	for name, tt := range map[string]struct {
		// before and after Finish: when a browser asks for the page; 0: it does not.
		before, after time.Duration
		want          time.Duration
	}{
		"no browser":                 {want: 0},
		"a browser that left":        {before: time.Minute, want: 0},
		"a browser gets the report":  {before: time.Second, after: time.Second, want: time.Second},
		"a browser that just closed": {before: time.Second, want: closeTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.Show(running(1))
			if tt.before > 0 {
				get(s, "GET", url)
				time.Sleep(tt.before)
			}
			s.Finish(&rv.Report{Name: "default/t"})
			if tt.after > 0 {
				time.AfterFunc(tt.after, func() { get(s, "GET", url) })
			}
			from := time.Now()
			s.Close()
			if got := time.Since(from); got != tt.want {
				t.Errorf("%s: waited %v, want %v", name, got, tt.want)
			}
		})
	}
}

// TestFinish: a reader of the state that comes while Finish runs sees the previous state or the final one. Close would
// wait for a browser that has the final page without its mark.
func TestFinish(t *testing.T) {
	for range 1000 {
		s := newServer()
		s.Show(running(1))
		go s.Finish(&rv.Report{Name: "default/t"})
		for number, final := 1, false; number == 1; {
			s.mu.Lock()
			number, final = s.number, s.final
			s.mu.Unlock()
			if final != (number == 2) {
				t.Fatalf("state %d: final is %t", number, final)
			}
		}
	}
}

func TestListen(t *testing.T) {
	if _, err := Listen("0.0.0.0:0", false); err == nil {
		t.Error("an address of other machines is allowed")
	}
	s, err := Listen("", false)
	if err != nil {
		t.Fatal(err)
	}
	s.Show(running(1))
	r, err := http.Get(s.URL()) //nolint:noctx // of this process
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close() //nolint:errcheck // it was only read
	s.Finish(&rv.Report{})
	if r, err = http.Get(s.URL()); err != nil || r.StatusCode != http.StatusOK { //nolint:noctx // of this process
		t.Fatal(r, err)
	}
	r.Body.Close() //nolint:errcheck // it was only read
	s.Close()
	if r, err := http.Get(s.URL()); err == nil { //nolint:noctx // of this process
		r.Body.Close() //nolint:errcheck // it was only read
		t.Error("the server is still there")
	}
}
