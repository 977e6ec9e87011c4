package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestNotifier: each request gets its notification, also if there are more at a time than the listener allows streams.
func TestNotifier(t *testing.T) {
	const requests = 400
	paths := make(chan string, requests)
	listener := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond) // so that streams are occupied
		paths <- r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusNoContent)
	}))
	listener.Config.Protocols, listener.Config.HTTP2 = new(http.Protocols), &http.HTTP2Config{MaxConcurrentStreams: 20}
	listener.Config.Protocols.SetUnencryptedHTTP2(true)
	listener.Start()
	t.Cleanup(listener.Close)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	n := &notifier{peers: map[string]*callbacks{}}
	go n.accept(l)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	client, sent := &http.Client{Transport: transport}, sync.WaitGroup{}
	for i := range requests {
		sent.Go(func() {
			body := fmt.Sprintf(`{"callback":"%s/created/%d"}`, listener.URL, i)
			r, err := client.Post("http://"+l.Addr().String()+"/subscriptions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			if _ = r.Body.Close(); r.StatusCode != http.StatusCreated {
				t.Errorf("status %d", r.StatusCode)
			}
		})
	}
	sent.Wait()
	seen := map[string]bool{}
	for range requests {
		select {
		case p := <-paths:
			seen[p] = true
		case <-time.After(time.Minute):
			t.Fatalf("%d notifications, want %d", len(seen), requests)
		}
	}
	if len(seen) != requests || !seen["POST /created/0"] || n.requests.Load() != requests {
		t.Errorf("%d different notifications for %d requests, want %d", len(seen), n.requests.Load(), requests)
	}
}
