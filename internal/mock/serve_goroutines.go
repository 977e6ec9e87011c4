package mock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// goroutineServer serves each connection of HTTP/2 with two goroutines. It replaces the loop on systems other than
// Linux. It is written for little code, not for speed.
type goroutineServer struct {
	srv *Server
	// delayed wakes the answering goroutine after an answer was delayed.
	delayed chan struct{}
	peers   map[*peer]struct{} // guarded by srv.mu
	wg      sync.WaitGroup
}

// peer is a connection of a goroutineServer. Its fields are guarded by srv.mu.
type peer struct {
	*session
	nc     net.Conn
	wake   *sync.Cond // output is pending, output was written, or ending is set
	ending bool       // write what is pending, then close
}

func (s *Server) serveGoroutines(ctx context.Context) error {
	if s.opts.CPU != nil {
		return errors.New("target: threads can be pinned to CPUs on Linux only")
	}
	w := &goroutineServer{srv: s, delayed: make(chan struct{}, 1), peers: map[*peer]struct{}{}}
	defer s.startHTTP1(ctx, w.notify)()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	defer stop()
	w.wg.Go(func() { w.answer(ctx) })
	err := w.accept()
	if ctx.Err() != nil {
		err = nil
	}
	cancel()
	w.shutdown()
	w.wg.Wait()
	return err
}

func (w *goroutineServer) accept() error {
	for {
		nc, err := w.srv.listener.Accept()
		if err != nil {
			return fmt.Errorf("target: %w", err)
		}
		w.srv.beginTurn()
		p := &peer{nc: nc, wake: sync.NewCond(&w.srv.mu)}
		p.session = w.srv.newSession(p.wake.Broadcast)
		w.peers[p] = struct{}{}
		w.srv.endTurn()
		w.wg.Go(func() { w.serve(p) })
	}
}

// serve reads until the protocol of the connection is known, and serves HTTP/2.
func (w *goroutineServer) serve(p *peer) {
	s := w.srv
	for buf := make([]byte, 32<<10); ; {
		n, err := p.nc.Read(buf)
		s.beginTurn()
		first := p.begin(buf[:n])
		switch {
		case p.opening == openingHTTP2:
			s.endTurn()
			w.wg.Go(func() { w.write(p) })
			w.read(p, io.MultiReader(bytes.NewReader(first), p.nc))
			return
		case p.opening == openingHTTP1:
			delete(w.peers, p)
			s.http1.serve(p.session, p.nc, first)
			s.endTurn()
			return
		case err != nil:
			w.drop(p)
			s.endTurn()
			return
		}
		s.endTurn()
	}
}

// drop closes a connection.
func (w *goroutineServer) drop(p *peer) {
	p.close()
	delete(w.peers, p)
	_ = p.nc.Close()
}

// read returns when the connection ends. It discards the input of a failed session for at most lingerTime, so that the
// client can read the reason.
func (w *goroutineServer) read(p *peer, in io.Reader) {
	s := w.srv
	buf := make([]byte, 32<<10)
	for failed := false; ; {
		n, err := in.Read(buf)
		s.beginTurn()
		if n > 0 && !failed && p.receive(buf[:n]) != nil {
			failed, p.ending = true, true
			_ = p.nc.SetReadDeadline(time.Now().Add(lingerTime))
		}
		p.wake.Broadcast()
		if s.held() > 0 {
			w.notify()
		}
		if err != nil {
			p.ending = true
			w.drop(p)
			s.endTurn()
			return
		}
		for p.h2.Congested() && !p.ending && !p.cut {
			p.wake.Wait()
		}
		s.endTurn()
	}
}

func (w *goroutineServer) write(p *peer) {
	s := w.srv
	var buf []byte
	for {
		s.beginTurn()
		for len(p.h2.Pending()) == 0 && !p.ending && !p.cut {
			p.wake.Wait()
		}
		buf = append(buf[:0], p.h2.Pending()...)
		p.wrote(len(buf))
		ending := p.ending
		cut := p.cut
		p.wake.Broadcast()
		s.endTurn()
		if cut {
			_ = p.nc.Close() // the reader sees it
			return
		}
		if _, err := p.nc.Write(buf); err != nil {
			_ = p.nc.Close() // the reader sees it
			return
		}
		if ending && len(buf) == 0 {
			endWriting(p.nc)
			return
		}
	}
}

func endWriting(nc net.Conn) {
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// answer sends the answers that latency or a stall delayed.
func (w *goroutineServer) answer(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		w.srv.beginTurn()
		wait := time.Duration(w.srv.respondDue())
		w.srv.endTurn()
		if timer.Stop(); wait >= 0 {
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.delayed:
		}
	}
}

func (w *goroutineServer) notify() {
	select {
	case w.delayed <- struct{}{}:
	default: // a wake-up is pending
	}
}

// shutdown sends GOAWAY to every client of HTTP/2, and closes the connections after lingerTime.
func (w *goroutineServer) shutdown() {
	w.srv.beginTurn()
	defer w.srv.endTurn()
	for p := range w.peers {
		if p.opening == openingUnknown {
			_ = p.nc.Close() // the reader sees it
			continue
		}
		p.h2.Shutdown()
		p.ending = true
		_ = p.nc.SetDeadline(time.Now().Add(lingerTime))
		p.wake.Broadcast()
	}
}
