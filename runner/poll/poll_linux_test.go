package poll

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func pair(t *testing.T) (int, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fds[0]); _ = unix.Close(fds[1]) })
	return fds[0], fds[1]
}

func newPoller(t *testing.T) *Poller {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestWaitTellsReadiness(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t)
	if err := p.Add(a, 7, false); err != nil {
		t.Fatal(err)
	}
	var out [4]Event
	if n, _, err := p.Wait(out[:], 0); n != 0 || err != nil {
		t.Fatalf("Wait on a silent socket = %d, %v", n, err)
	}
	if n, errno := Send(b, []byte("x")); n != 1 || errno != 0 {
		t.Fatalf("Send = %d, %v", n, errno)
	}
	n, woken, err := p.Wait(out[:], -1)
	if n != 1 || woken || err != nil || out[0] != (Event{Data: 7, Readable: true}) {
		t.Fatalf("Wait = %d, %v, %v, %+v", n, woken, err, out[0])
	}
	if err := p.Modify(a, 7, true); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := p.Wait(out[:], time.Second); n != 1 || !out[0].Writable || !out[0].Readable {
		t.Fatalf("Wait after Modify = %d, %+v", n, out[0])
	}
	if err := p.Remove(a); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := p.Wait(out[:], 0); n != 0 {
		t.Fatalf("Wait after Remove = %d", n)
	}
}

func TestReadAndEndOfStream(t *testing.T) {
	a, b := pair(t)
	var buf [8]byte
	if n, errno := Read(a, buf[:]); n != 0 || errno != unix.EAGAIN {
		t.Fatalf("Read of nothing = %d, %v, want EAGAIN", n, errno)
	}
	if _, errno := Send(b, []byte("abc")); errno != 0 {
		t.Fatal(errno)
	}
	if n, errno := Read(a, buf[:]); n != 3 || errno != 0 || string(buf[:3]) != "abc" {
		t.Fatalf("Read = %d, %v", n, errno)
	}
	if err := unix.Shutdown(b, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	if n, errno := Read(a, buf[:]); n != 0 || errno != 0 {
		t.Fatalf("Read at end of stream = %d, %v", n, errno)
	}
	if _, errno := Send(a, []byte("x")); errno != unix.EPIPE {
		t.Fatalf("Send to a closed peer = %v, want EPIPE and no signal", errno)
	}
}

func TestWakeEndsAWait(t *testing.T) {
	p := newPoller(t)
	go p.Wake()
	var out [1]Event
	for {
		n, woken, err := p.Wait(out[:], -1)
		if err != nil || n != 0 {
			t.Fatalf("Wait = %d, %v", n, err)
		}
		if woken {
			break
		}
	}
	if _, woken, _ := p.Wait(out[:], 0); woken {
		t.Fatal("one Wake woke twice")
	}
}

// TestWakeAfterClose: descriptors that get the numbers of those of a closed poller receive nothing.
func TestWakeAfterClose(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	for range 4 {
		fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		p.Wake()
		if _, errno := Read(fd, make([]byte, 8)); errno != unix.EAGAIN {
			t.Errorf("descriptor %d: read returned %v, want EAGAIN", fd, errno)
		}
	}
}

func TestTimeouts(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		p := newPoller(t)
		p.coarse = coarse
		begin := time.Now()
		var out [1]Event
		for time.Since(begin) < rawWait+2*time.Millisecond {
			// a signal may end a wait early; a wait that never ends hangs the test
			if _, _, err := p.Wait(out[:], rawWait+2*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
}
