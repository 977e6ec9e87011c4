package poll

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// park waits in Go's own poller: the goroutine is parked, and its thread has no P. After a wait in a system call,
// sysmon of Go's runtime polls every 20 us for a millisecond, and more seldom until it has taken the P away, 10 ms
// later: some 60 times, each of which takes the thread from its sleep. That cost more than the requests of a worker
// that sends a few each second. A wake-up from park costs two switches of threads.
type park struct {
	// bridge is the epoll descriptor fd, which Go's poller watches. It watches timer, and during a wait also the
	// descriptor of the Poller: at other times, Go's poller would wake at each event of a connection.
	bridge *os.File
	fd     int
	timer  int
	raw    syscall.RawConn
	ready  func(uintptr) bool
	// within is the timeout of the wait that begins, and zero when Go's poller has begun it.
	within time.Duration
	// ended is when the last wait ended, and zero after sysmon was woken.
	ended time.Time
}

// rawAfterPark is how long a worker may make raw calls only after a wait in park.
const rawAfterPark = 25 * time.Millisecond

// wakeSysmon ends a sleep of sysmon if the worker has not parked again soon. While all goroutines are parked, sysmon
// sleeps, and only a call that is not raw wakes it. It asks Go's poller for the other goroutines when no thread does. A
// worker that sends a few requests each second parks again before that, and a thread that has nothing to do asks then.
func (k *park) wakeSysmon() {
	if !k.ended.IsZero() && time.Since(k.ended) > rawAfterPark {
		k.ended = time.Time{}
		_, _, _ = unix.Syscall(unix.SYS_GETPID, 0, 0, 0)
	}
}

// newPark returns a park that waits for the events of an epoll descriptor.
func newPark(epfd int) (*park, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	_ = unix.SetNonblock(fd, true) // os.NewFile uses Go's poller for such descriptors only
	k := &park{bridge: os.NewFile(uintptr(fd), "poll"), fd: fd, timer: -1}
	if k.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		k.close()
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, k.timer, &unix.EpollEvent{Events: unix.EPOLLIN})
	if err == nil {
		k.raw, err = k.bridge.SyscallConn()
	}
	if err != nil {
		k.close()
		return nil, fmt.Errorf("epoll_ctl: %w", err)
	}
	// Before the first call, Go's poller forgets earlier events. Only events from then on wake the goroutine, so the wait
	// begins there. The goroutine is parked if the result is false.
	k.ready = func(uintptr) bool {
		if k.within == 0 {
			return true
		}
		k.setTimer(max(k.within, 0))
		k.within = 0
		return unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, epfd, &unix.EpollEvent{Events: unix.EPOLLIN}) != nil
	}
	return k, nil
}

func (k *park) close() {
	_ = k.bridge.Close()
	_ = unix.Close(k.timer)
}

// wait returns when the descriptor epfd has events, or after the timeout. A negative timeout has no end.
func (k *park) wait(epfd int, timeout time.Duration) {
	k.within = timeout
	_ = k.raw.Read(k.ready) // an error ends the wait
	_ = unix.EpollCtl(k.fd, unix.EPOLL_CTL_DEL, epfd, nil)
	k.ended = time.Now()
	k.setTimer(0)
}

// setTimer starts the timer, or stops it with zero.
func (k *park) setTimer(d time.Duration) {
	_ = unix.TimerfdSettime(k.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
}
