package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Notified is what a notifier has done so far. Refused are notifications without the answer 204.
type Notified struct {
	Subscriptions, Sent, Refused int64
}

// notify answers a POST with 201, and then sends a notification to the notificationUri of its content. Of 200 subscriptions, it leaves
// one without a notification, and notifies one twice. GET /notified tells the counts.
func notify() {
	var subscriptions, sent, refused atomic.Int64
	var h2c, both http.Protocols
	h2c.SetUnencryptedHTTP2(true)
	both.SetUnencryptedHTTP2(true)
	both.SetHTTP1(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &h2c}, Timeout: 10 * time.Second}
	send := func(uri string) {
		r, err := client.Post(uri, "application/json", strings.NewReader(`{"event": "created"}`))
		sent.Add(1)
		if err != nil {
			log.Print(err)
			refused.Add(1)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusNoContent {
			refused.Add(1)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /notified", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(Notified{subscriptions.Load(), sent.Load(), refused.Load()})
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			NotificationURI string `json:"notificationUri"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n := subscriptions.Add(1)
		w.Header().Set("Location", fmt.Sprintf("/subscriptions/%d", n))
		w.WriteHeader(http.StatusCreated)
		switch n % 200 {
		case 0:
		case 1:
			go func() { send(body.NotificationURI); send(body.NotificationURI) }()
		default:
			go send(body.NotificationURI)
		}
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s := &http.Server{Addr: ":8080", Handler: mux, Protocols: &both, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}
