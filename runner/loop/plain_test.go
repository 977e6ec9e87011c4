package loop

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/test/peer"
)

// plainDialer connects as other systems do.
type plainDialer struct{ address string }

func (d plainDialer) Dial(r netio.Attempt) {
	go func() {
		r.Progress(dial.Connecting)
		c, err := net.Dial("tcp", d.address)
		r.Connected(&dial.Connection{FD: -1, Conn: c}, err)
	}()
}

// TestPlainNet runs the driver of other systems against net/http, large bodies both ways.
func TestPlainNet(t *testing.T) {
	var requests, octets atomic.Int64
	large := make([]byte, 300_000)
	address := peer.Serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		requests.Add(1)
		octets.Add(n)
		_, _ = w.Write(large)
	}))

	p := gets(rv.Rate{Name: "r", ClosedLoop: true, Requests: 200})
	p.Targets[0].Connections = 3
	s := &p.Chains[0].Steps[0]
	s.Method, s.Body, s.Timeout = "POST", rv.Text{{Literal: string(large)}}, time.Minute
	p.Drain = time.Minute
	g, err := chain.Load(p, chain.Resources{})
	if err != nil {
		t.Fatal(err)
	}
	n := netio.NewPlain(rv.Clock)
	var w *Worker
	w, err = New(Config{
		Program: g, Rates: p.Rates, Share: split.Whole(p), MaxWait: p.Drain, Net: n,
		Dialer: plainDialer{address}, Log: slog.New(slog.DiscardHandler),
		Changed: func() {
			if w.Phase() == Ready {
				w.Start(n.Now(), nil)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := &w.rec.Steps[0]
	if st.Sent != 200 || st.Succeeded != 200 || requests.Load() != 200 || octets.Load() != 200*int64(len(large)) {
		t.Errorf("sent %d, succeeded %d, the peer counted %d with %d octets", st.Sent, st.Succeeded, requests.Load(), octets.Load())
	}
	if w.rec.BytesReceived < 200*int64(len(large)) {
		t.Errorf("received %d octets", w.rec.BytesReceived)
	}
}
