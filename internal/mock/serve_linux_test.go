package mock

import (
	"net"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/runner/poll"
)

// limitDescriptors lets the process open none more, until restore.
func limitDescriptors(t *testing.T) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	used := map[int]bool{}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil {
			used[fd] = true
		}
	}
	free := 0 // the kernel gives out the lowest, which must not be below the limit
	for used[free] {
		free++
	}
	// ReadDir's own descriptor is closed by now, and may be the lowest.
	for fd := 3; fd < free; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			free = fd
		}
	}
	limit := before
	limit.Cur = uint64(free)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }
}

// TestOutOfDescriptors: the loop neither spins nor forgets the clients that wait.
func TestOutOfDescriptors(t *testing.T) {
	s, err := New(Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 { // they wait in the backlog
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	l, err := newLoop(s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	restore := limitDescriptors(t)
	wait := l.turn([]poll.Event{{Data: listenerData, Readable: true}})
	restore()
	if st := s.Stats(); st.OpenConnections != 0 || !l.acceptPaused || wait != acceptRetry {
		t.Fatalf("%d connections, paused %v, wait %v; want none, and another try in %v", st.OpenConnections, l.acceptPaused, wait, acceptRetry)
	}
	if n, _, err := l.poller.Wait(make([]poll.Event, 4), 0); n != 0 || err != nil {
		t.Errorf("%d events, %v: the listener is still watched", n, err)
	}
	wait = l.turn(nil)
	if st := s.Stats(); st.OpenConnections != 3 || l.acceptPaused || wait >= 0 {
		t.Errorf("with descriptors again: %d connections, paused %v, wait %v", st.OpenConnections, l.acceptPaused, wait)
	}
	l.shutdown()
}
