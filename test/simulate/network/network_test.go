package network

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const clientIP, serverIP = "10.0.0.1", "10.0.0.2"

// world is a network with two hosts and a connection between them.
type world struct {
	*Network
	t              *testing.T
	begin          time.Time
	listener       net.Listener
	client, server net.Conn
}

// simulate runs a test in a bubble.
func simulate(t *testing.T, o Options, f func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{Network: New(o), t: t}
		w.listener = must(w.Host(serverIP).Listen("tcp", ":80"))
		w.client = must(w.Host(clientIP).DialContext(t.Context(), "tcp", serverIP+":80"))
		w.server = must(w.listener.Accept())
		w.begin = time.Now()
		f(w)
		w.Host(clientIP).Close()
		w.Host(serverIP).Close()
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// read wants octets, or an error, after a time since the begin.
func (w *world) read(c net.Conn, want string, wantErr error, after time.Duration) {
	w.t.Helper()
	b := make([]byte, 100)
	n, err := c.Read(b)
	if got := time.Since(w.begin); string(b[:n]) != want || !errors.Is(err, wantErr) || got != after {
		w.t.Errorf("read %q, %v after %v; want %q, %v after %v", b[:n], err, got, want, wantErr, after)
	}
}

func (w *world) write(c net.Conn, text string, want error) {
	w.t.Helper()
	if _, err := io.WriteString(c, text); !errors.Is(err, want) {
		w.t.Errorf("write: %v, want %v", err, want)
	}
}

func (w *world) pass(d time.Duration) { time.Sleep(d) }

func TestDelay(t *testing.T) {
	simulate(t, Options{Delay: 10 * time.Millisecond}, func(w *world) {
		w.write(w.client, "a", nil)
		w.pass(4 * time.Millisecond)
		w.write(w.client, "b", nil)
		w.write(w.server, "back", nil)
		w.read(w.server, "a", nil, 10*time.Millisecond)
		w.read(w.server, "b", nil, 14*time.Millisecond)
		w.read(w.client, "back", nil, 14*time.Millisecond)
		if err := w.client.Close(); err != nil {
			t.Error(err)
		}
		w.read(w.server, "", io.EOF, 24*time.Millisecond)
		w.read(w.client, "", net.ErrClosed, 24*time.Millisecond)
	})
}

// TestSeed: the same seed draws the same delays and losses, and no segment overtakes another.
func TestSeed(t *testing.T) {
	arrivals := func(seed uint64) (at []time.Duration) {
		simulate(t, Options{Seed: seed, Delay: time.Millisecond, Jitter: 5 * time.Millisecond, Loss: 0.1}, func(w *world) {
			go func() {
				for range 100 {
					w.pass(20 * time.Millisecond)
					w.write(w.client, "x", nil)
				}
			}()
			last := time.Duration(0)
			for n := range 100 {
				if _, err := w.server.Read(make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
				sent := time.Duration(n+1) * 20 * time.Millisecond
				if got := w.server.(*conn).Sent().Sub(w.begin); got != sent {
					t.Errorf("it was sent at %v, want %v", got, sent)
				}
				if now := time.Since(w.begin); now > last { // else it waited for the one before it
					at, last = append(at, now-sent), now
				}
			}
		})
		return at
	}
	a, b := arrivals(1), arrivals(1)
	late := len(slices.DeleteFunc(slices.Clone(a), func(d time.Duration) bool { return d <= 6*time.Millisecond }))
	if !slices.Equal(a, b) || slices.Equal(a, arrivals(2)) || late == 0 || late > 30 || slices.Min(a) < time.Millisecond {
		t.Errorf("%d of %d were late:\n%v\n%v", late, len(a), a, b)
	}
}

func TestCut(t *testing.T) {
	// TCP sends again 0.2, 0.6, 1.4, 3 and 6.2 s after the loss.
	simulate(t, Options{Delay: 10 * time.Millisecond}, func(w *world) {
		w.write(w.client, "a", nil)
		w.Cut(clientIP, serverIP)
		w.write(w.client, "b", nil)
		w.write(w.server, "c", nil)
		w.read(w.client, "c", nil, 10*time.Millisecond) // the other direction works
		time.AfterFunc(2*time.Second-10*time.Millisecond, func() { w.Heal(clientIP, serverIP) })
		w.read(w.server, "a", nil, 3010*time.Millisecond)
		w.read(w.server, "b", nil, 3010*time.Millisecond)
	})
	simulate(t, Options{Timeout: time.Minute}, func(w *world) {
		w.Cut("", serverIP)
		w.write(w.client, "a", nil)
		w.read(w.client, "", syscall.ETIMEDOUT, time.Minute)
		w.write(w.client, "b", syscall.ETIMEDOUT)
		w.pass(time.Minute)
		w.Heal("", serverIP)
		w.read(w.server, "", syscall.ETIMEDOUT, 2*time.Minute)
	})
}

// TestFreeze: a process that is stopped reads late, and sends late.
func TestFreeze(t *testing.T) {
	simulate(t, Options{Delay: 10 * time.Millisecond}, func(w *world) {
		w.write(w.server, "sent before", nil)
		w.Host(serverIP).Freeze(time.Minute)
		w.write(w.server, "held", nil)
		w.write(w.client, "for it", nil)
		if err := w.server.SetReadDeadline(w.begin.Add(time.Second)); err != nil {
			t.Error(err)
		}
		w.read(w.client, "sent before", nil, 10*time.Millisecond)
		if _, err := w.Host(clientIP).DialContext(w.t.Context(), "tcp", serverIP+":80"); err != nil {
			t.Error("its kernel does not accept connections:", err)
		}
		w.read(w.server, "", os.ErrDeadlineExceeded, time.Minute)
		if err := w.server.SetReadDeadline(time.Time{}); err != nil {
			t.Error(err)
		}
		w.read(w.server, "for it", nil, time.Minute)
		w.read(w.client, "held", nil, time.Minute+10*time.Millisecond)
	})
}

func TestEnds(t *testing.T) {
	delay := Options{Delay: 10 * time.Millisecond}
	for name, tc := range map[string]struct {
		do   func(*world)
		want error // of the client
		at   time.Duration
	}{
		"closed":                {func(w *world) { w.server.Close() }, io.EOF, 10 * time.Millisecond},
		"half closed":           {func(w *world) { w.server.(*conn).CloseWrite() }, io.EOF, 10 * time.Millisecond},
		"the process ends":      {func(w *world) { w.Host(serverIP).Close() }, io.EOF, 10 * time.Millisecond},
		"reset":                 {func(w *world) { w.Reset(clientIP, serverIP) }, syscall.ECONNRESET, 0},
		"the deadline":          {func(w *world) { w.client.SetReadDeadline(time.Now().Add(time.Second)) }, os.ErrDeadlineExceeded, time.Second},
		"closed while it reads": {func(w *world) { w.client.Close() }, net.ErrClosed, 0},
		"input was not read": {func(w *world) {
			w.write(w.client, "a", nil)
			w.pass(20 * time.Millisecond)
			w.server.Close()
		}, syscall.ECONNRESET, 30 * time.Millisecond},
		"written to a closed end": {func(w *world) {
			w.server.(*conn).host.Close()
			w.write(w.client, "a", nil)
			w.pass(20 * time.Millisecond)
			w.write(w.client, "b", syscall.ECONNRESET)
		}, io.EOF, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, delay, func(w *world) {
				if strings.Contains(name, "while") {
					go tc.do(w)
				} else {
					tc.do(w)
				}
				w.read(w.client, "", tc.want, tc.at)
			})
		})
	}
}

func TestBackPressure(t *testing.T) {
	simulate(t, Options{Window: 4}, func(w *world) {
		text := []byte("0123456789")
		done := make(chan error, 1)
		go func() {
			_, err := w.client.Write(text)
			done <- err
		}()
		synctest.Wait()
		if len(done) > 0 {
			t.Fatal("the window has no effect")
		}
		got := make([]byte, len(text))
		if _, err := io.ReadFull(w.server, got); err != nil || !bytes.Equal(got, text) || <-done != nil {
			t.Errorf("%q, %v", got, err)
		}
		w.client.SetWriteDeadline(time.Now().Add(time.Second))
		w.write(w.client, "01234", os.ErrDeadlineExceeded)
	})
}

func TestDial(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*world)
		address string
		want    error
		after   time.Duration
	}{
		"a name":                    {nil, "target.example:80", nil, 20 * time.Millisecond},
		"nothing listens":           {nil, serverIP + ":81", syscall.ECONNREFUSED, 20 * time.Millisecond},
		"no host":                   {nil, "10.0.0.9:80", context.DeadlineExceeded, time.Minute},
		"the host is removed":       {func(w *world) { w.Remove(serverIP) }, serverIP + ":80", context.DeadlineExceeded, time.Minute},
		"the process has ended":     {func(w *world) { w.Host(serverIP); w.server.(*conn).host.Close() }, serverIP + ":80", syscall.ECONNREFUSED, 20 * time.Millisecond},
		"another process":           {func(w *world) { w.server.(*conn).host.Close(); must(w.Host(serverIP).Listen("tcp", "0.0.0.0:80")) }, serverIP + ":80", nil, 20 * time.Millisecond},
		"the listener is closed":    {func(w *world) { w.listener.Close() }, serverIP + ":80", syscall.ECONNREFUSED, 20 * time.Millisecond},
		"the answer is lost":        {func(w *world) { w.Cut(serverIP, ""); time.AfterFunc(2*time.Second, func() { w.Heal(serverIP, "") }) }, serverIP + ":80", nil, 3020 * time.Millisecond},
		"the dialing process ended": {func(w *world) { w.client.(*conn).host.Close() }, serverIP + ":80", syscall.ENETDOWN, 0},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, Options{Delay: 10 * time.Millisecond}, func(w *world) {
				w.Name("target.example", serverIP)
				if tc.prepare != nil {
					tc.prepare(w)
				}
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
				defer cancel()
				c, err := w.client.(*conn).host.DialContext(ctx, "tcp", tc.address)
				if after := time.Since(w.begin); !errors.Is(err, tc.want) || after != tc.after {
					t.Errorf("%v after %v, want %v after %v", err, after, tc.want, tc.after)
				}
				if err == nil {
					c.Close()
				}
			})
		})
	}
	simulate(t, Options{}, func(w *world) {
		var unknown *net.DNSError
		if _, err := w.Host(clientIP).DialContext(w.t.Context(), "tcp", "nowhere:80"); !errors.As(err, &unknown) || !unknown.IsNotFound {
			t.Error(err)
		}
	})
}

// TestRemoved: the peers of a host that vanishes get no answer, until another host has its address.
func TestRemoved(t *testing.T) {
	simulate(t, Options{}, func(w *world) {
		w.write(w.client, "a", nil)
		w.Remove(serverIP)
		w.write(w.client, "b", nil)
		time.AfterFunc(time.Second, func() { w.Host(serverIP) })
		w.read(w.client, "", syscall.ECONNRESET, 1400*time.Millisecond)
	})
}
