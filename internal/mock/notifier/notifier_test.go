package notifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

// peer answers notifications after the time that their path is, and notes when they came.
type peer struct {
	mu       sync.Mutex
	begin    time.Time
	received []string
	flying   int
	most     int
}

// RoundTrip implements http.RoundTripper.
func (p *peer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.received = append(p.received, fmt.Sprintf("%v %s %s %s %q", time.Since(p.begin).Truncate(time.Millisecond), r.Method, r.URL, r.Header.Get("h"), body))
	p.flying++
	p.most = max(p.most, p.flying)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flying--
	}()
	wait, err := time.ParseDuration(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		wait = 0
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(wait):
	}
	switch r.URL.Host {
	case "broken":
		return nil, errors.New("the connection is lost")
	case "refuses":
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}, nil
	}
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

// run sends notifications with a peer, whose time is the bubble's, until test returns.
func run(t *testing.T, test func(t *testing.T, s *Sender, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{begin: time.Now()}
		s := newSender([]rules.NotificationName{{Rule: "r", Name: "n"}}, p, rules.DefaultTimeout)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		test(t, s, p)
		cancel()
		<-done
	})
}

// pass lets the bubble's time pass, and waits until the other goroutines are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func to(uri string, delay time.Duration) rules.Notification {
	return rules.Notification{Method: "POST", URI: uri, Delay: delay, Copies: 1}
}

func TestOrder(t *testing.T) {
	run(t, func(t *testing.T, s *Sender, p *peer) {
		put := rules.Notification{
			Method: "PUT", URI: "http://a/c", Delay: time.Millisecond, Copies: 1, Body: []byte("{}"),
			Fields: []rules.NotificationField{{Name: "h", Value: "v"}},
		}
		s.Add([]rules.Notification{to("http://a/b", 20*time.Millisecond), put, to("http://a/d", 20*time.Millisecond)}, time.Now())
		pass(10 * time.Millisecond)
		s.Add([]rules.Notification{to("http://a/e", 0)}, time.Now())
		pass(time.Second)
		want := []string{`1ms PUT http://a/c v "{}"`, `10ms POST http://a/e  ""`, `20ms POST http://a/b  ""`, `20ms POST http://a/d  ""`}
		if diff := cmp.Diff(want, p.received); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestCounts(t *testing.T) {
	twice, unsent := to("http://a", 0), to("http://a", 0)
	twice.Copies, unsent.Copies = 2, 0
	for _, c := range []struct {
		name string
		add  rules.Notification
		want Count
	}{
		{"answered", to("http://a", 0), Count{Requested: 1, Sent: 1, Answered: 1}},
		{"refused", to("http://refuses", 0), Count{Requested: 1, Sent: 1, Refused: 1, LastError: "status 404"}},
		{"failed", to("http://broken", 0), Count{Requested: 1, Sent: 1, Failed: 1, LastError: `Post "http://broken": the connection is lost`}},
		{"timed out", to("http://a/30s", 0), Count{Requested: 1, Sent: 1, Failed: 1, LastError: `Post "http://a/30s": context deadline exceeded`}},
		{"twice", twice, Count{Requested: 1, SentTwice: 1, Sent: 2, Answered: 2}},
		{"unsent", unsent, Count{Requested: 1, Unsent: 1}},
		{"invalid", rules.Notification{Problem: "uri"}, Count{Requested: 1, Invalid: 1, LastError: "uri"}},
		{"delayed", to("http://a", time.Hour), Count{Requested: 1, Pending: 1}},
		{"no request", rules.Notification{Method: "A B", URI: "http://a", Copies: 1}, Count{Requested: 1, Sent: 1, Failed: 1, LastError: `net/http: invalid method "A B"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(t *testing.T, s *Sender, _ *peer) {
				s.Add([]rules.Notification{c.add}, time.Now())
				pass(time.Minute)
				c.want.NotificationName = rules.NotificationName{Rule: "r", Name: "n"}
				if diff := cmp.Diff([]Count{c.want}, s.Counts()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if s.flying != 0 || s.bytes != s.waiting() {
					t.Errorf("%d in flight, %d bytes", s.flying, s.bytes)
				}
			})
		})
	}
}

// waiting is the memory of the queue, which has at most one notification.
func (s *Sender) waiting() int {
	if s.queue.Len() == 0 {
		return 0
	}
	n, _ := s.queue.First()
	return n.Size()
}

// TestBounds: at most MaxInFlight notifications wait for answers, the others wait for them, and what exceeds the memory is dropped.
func TestBounds(t *testing.T) {
	run(t, func(t *testing.T, s *Sender, p *peer) {
		for range 2500 {
			s.Add([]rules.Notification{to("http://a/1s", 0)}, time.Now())
		}
		pass(500 * time.Millisecond)
		if c := s.Counts()[0]; c.Sent != MaxInFlight || c.Pending != 2500 {
			t.Errorf("%+v", c)
		}
		pass(3 * time.Second)
		if c := s.Counts()[0]; c.Answered != 2500 || c.Pending != 0 || p.most != MaxInFlight {
			t.Errorf("%+v, at most %d in flight", c, p.most)
		}
		large := to("http://a", time.Hour)
		large.Body = make([]byte, 16<<20)
		for range 20 {
			s.Add([]rules.Notification{large}, time.Now())
		}
		if c := s.Counts()[0]; c.Dropped != 5 || c.Pending != 15 || !strings.Contains(c.LastError, "256 MiB") {
			t.Errorf("%+v", c)
		}
	})
}

func TestReset(t *testing.T) {
	run(t, func(t *testing.T, s *Sender, p *peer) {
		s.Add([]rules.Notification{to("http://a/1s", 0), to("http://a/1s", time.Second)}, time.Now())
		pass(500 * time.Millisecond)
		s.Reset()
		s.Add([]rules.Notification{to("http://a", 0)}, time.Now())
		pass(time.Minute)
		want := []Count{{NotificationName: rules.NotificationName{Rule: "r", Name: "n"}, Requested: 1, Sent: 1, Answered: 1}}
		if diff := cmp.Diff(want, s.Counts()); diff != "" || len(p.received) != 3 {
			t.Errorf("%d received; counts (-want +got):\n%s", len(p.received), diff)
		}
	})
}

// TestEnd: Run returns while notifications wait for answers.
func TestEnd(t *testing.T) {
	run(t, func(t *testing.T, s *Sender, _ *peer) {
		s.Add([]rules.Notification{to("http://a/9s", 0), to("http://a", time.Hour)}, time.Now())
		synctest.Wait()
	})
}
