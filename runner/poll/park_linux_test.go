//go:build !race

package poll

import (
	"testing"
	"time"
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
