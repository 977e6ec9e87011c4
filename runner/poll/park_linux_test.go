//go:build !race

package poll

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPark: events, Wake and the time end a wait; one that does not end hangs the test.
func TestPark(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t)
	if err := p.Add(a, 7, false); err != nil {
		t.Fatal(err)
	}
	var out [1]Event
	for range 100 {
		p.park.wait(p.epfd, time.Microsecond)
		if n, woken, err := p.Wait(out[:], 0); n != 0 || woken || err != nil {
			t.Fatalf("Wait after a timeout = %d, %t, %v", n, woken, err)
		}
		go p.Wake()
		p.park.wait(p.epfd, -1)
		if n, woken, err := p.Wait(out[:], 0); n != 0 || !woken || err != nil {
			t.Fatalf("Wait after Wake = %d, %t, %v", n, woken, err)
		}
		go Send(b, []byte("x"))
		p.park.wait(p.epfd, -1)
		if n, woken, err := p.Wait(out[:], 0); n != 1 || woken || err != nil {
			t.Fatalf("Wait after an event = %d, %t, %v", n, woken, err)
		}
		p.park.wait(p.epfd, -1) // the event is still there
		var buf [1]byte
		if n, errno := Read(a, buf[:]); n != 1 || errno != 0 {
			t.Fatalf("Read = %d, %v", n, errno)
		}
	}
	if n := testing.AllocsPerRun(10, func() { p.park.wait(p.epfd, time.Microsecond) }); n > 0 {
		t.Errorf("%v allocations for each wait", n)
	}
}

// TestOthersRunAfterPark: goroutines that wait for Go's poller run although the worker makes raw calls only after park.
func TestOthersRunAfterPark(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := newPoller(t)
	a, b := pair(t)
	fd, err := unix.Dup(a)
	if err != nil {
		t.Fatal(err)
	}
	other := os.NewFile(uintptr(fd), "other")
	defer other.Close()
	var out [1]Event
	for range 10 {
		var read atomic.Bool
		go func() {
			var buf [1]byte
			_, _ = other.Read(buf[:])
			read.Store(true)
		}()
		p.park.wait(p.epfd, 50*time.Millisecond) // all goroutines are parked, so sysmon sleeps
		if n, errno := Send(b, []byte("x")); n != 1 {
			t.Fatalf("Send = %d, %v", n, errno)
		}
		for i := 0; !read.Load(); i++ {
			if i == 2000 {
				t.Fatal("the other goroutine did not read for 2 s")
			}
			_, _, _ = p.Wait(out[:], time.Millisecond)
		}
	}
}
