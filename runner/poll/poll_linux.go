package poll

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Poller watches descriptors. All methods but Wake belong to one goroutine.
type Poller struct {
	epfd int
	// wakeFD gets the octets of Wake; -1: closed. Guarded by waking: another descriptor can get its number.
	wakeFD int
	waking sync.Mutex
	park   *park
	raw    [maxEvents]unix.EpollEvent
	// timeout of the present wait. It is here because the kernel reads it, and a Poller does not move.
	timeout unix.Timespec
	// coarse is set when the kernel or the container's seccomp profile lacks epoll_pwait2
	// (Linux 5.11); timeouts are then rounded up to milliseconds.
	coarse bool
}

const (
	maxEvents = 256
	wakeData  = -1
)

// New returns a poller; Close releases it.
func New() (*Poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	wakeFD, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		_ = unix.Close(epfd)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	park, err := newPark(epfd)
	if err != nil {
		_ = unix.Close(epfd)
		_ = unix.Close(wakeFD)
		return nil, err
	}
	p := &Poller{epfd: epfd, wakeFD: wakeFD, park: park}
	if err := p.ctl(unix.EPOLL_CTL_ADD, wakeFD, wakeData, unix.EPOLLIN); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close releases the poller's own descriptors, not the ones it watches.
func (p *Poller) Close() {
	p.park.close()
	_ = unix.Close(p.epfd)
	p.waking.Lock()
	defer p.waking.Unlock()
	_ = unix.Close(p.wakeFD)
	p.wakeFD = -1
}

// Add starts to watch fd for input and, if writable is true, until the socket accepts output. data must not be
// negative.
func (p *Poller) Add(fd int, data int32, writable bool) error {
	return p.ctl(unix.EPOLL_CTL_ADD, fd, data, interest(writable))
}

// Modify changes whether fd is watched until the socket accepts output.
func (p *Poller) Modify(fd int, data int32, writable bool) error {
	return p.ctl(unix.EPOLL_CTL_MOD, fd, data, interest(writable))
}

// Remove ends watching fd. Closing the descriptor does so too.
func (p *Poller) Remove(fd int) error {
	return p.ctl(unix.EPOLL_CTL_DEL, fd, 0, 0)
}

func interest(writable bool) uint32 {
	if writable {
		return unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLOUT
	}
	return unix.EPOLLIN | unix.EPOLLRDHUP
}

func (p *Poller) ctl(op, fd int, data int32, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: data}
	if err := unix.EpollCtl(p.epfd, op, fd, &ev); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// Wait fills out with ready descriptors and returns their number. It returns at once when some
// are ready or Wake was called, and otherwise no later than timeout; a negative timeout waits
// without end. A wait may end early, with no events: the runtime sends signals to stop the world, and a long wait ends
// some milliseconds before the timeout.
func (p *Poller) Wait(out []Event, timeout time.Duration) (n int, woken bool, err error) {
	got, errno := p.wait(min(len(out)+1, maxEvents), timeout)
	if errno != 0 {
		if errno == unix.EINTR {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("epoll_wait: %w", errno)
	}
	for i := range p.raw[:got] {
		ev := &p.raw[i]
		if ev.Fd == wakeData {
			woken = true
			p.drainWake()
			continue
		}
		if n == len(out) {
			break // level-triggered: the next Wait returns the event again
		}
		const in = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
		out[n] = Event{Data: ev.Fd, Readable: ev.Events&in != 0, Writable: ev.Events&unix.EPOLLOUT != 0,
			Ended: ev.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP) != 0}
		n++
	}
	return n, woken, nil
}

// A wait is a raw system call, which the Go scheduler does not see, if it is short. To the scheduler, a thread that
// makes a short raw call runs all the time. A garbage collection interrupts a raw wait, because it sends a signal to
// each thread that runs, and repeats the signal every 100 us until the thread stops. Without asynchronous preemption,
// it waits for rawWait.
const (
	// firstWait is how long a wait of any length is raw. A worker whose peers answer within it makes raw calls only.
	//
	// It is longer than the kernel's tick, which is 4 ms at 250 Hz. A wait that ends before the next tick sets the CPU's
	// timer, and an event that comes first sets it back. In a virtual machine, each of these is an exit to the hypervisor.
	firstWait = 8 * time.Millisecond
	// rawWait is the longest wait that is raw. For less, a wake-up from park costs more than it saves.
	rawWait = 20 * time.Millisecond
	// parkEarly is how long before the timeout a parked wait ends, so that the next one, which is raw, ends on time.
	parkEarly = 6 * time.Millisecond
)

func (p *Poller) wait(most int, timeout time.Duration) (int, unix.Errno) {
	p.park.wakeSysmon()
	if 0 <= timeout && timeout <= rawWait {
		return p.epoll(most, timeout)
	}
	n, errno := p.epoll(most, firstWait)
	if n > 0 || errno != 0 {
		return n, errno
	}
	p.park.wait(p.epfd, max(timeout-firstWait-parkEarly, -1))
	return p.epoll(most, 0)
}

// epoll calls the kernel.
func (p *Poller) epoll(most int, timeout time.Duration) (int, unix.Errno) {
	trap, until := uintptr(unix.SYS_EPOLL_PWAIT), uintptr(0)
	switch {
	case timeout == 0:
	case p.coarse:
		until = uintptr((timeout + time.Millisecond - 1) / time.Millisecond)
	default:
		p.timeout = unix.NsecToTimespec(int64(timeout))
		trap, until = unix.SYS_EPOLL_PWAIT2, uintptr(unsafe.Pointer(&p.timeout))
	}
	n, _, errno := unix.RawSyscall6(trap, uintptr(p.epfd), uintptr(unsafe.Pointer(&p.raw)), uintptr(most), until, 0, 0)
	if trap == unix.SYS_EPOLL_PWAIT2 && (errno == unix.ENOSYS || errno == unix.EPERM) {
		p.coarse = true
		return p.epoll(most, timeout)
	}
	return int(n), errno
}

// Wake makes the present or next Wait return. Any goroutine may call it, also after Close.
func (p *Poller) Wake() {
	p.waking.Lock()
	defer p.waking.Unlock()
	one := [8]byte{0: 1}
	_, _ = unix.Write(p.wakeFD, one[:])
}

func (p *Poller) drainWake() {
	var b [8]byte
	_, _ = Read(p.wakeFD, b[:])
}

// Read reads from a non-blocking descriptor. errno is EAGAIN when nothing is there; n is 0 with
// no errno at end of stream.
func Read(fd int, b []byte) (n int, errno unix.Errno) {
	r, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// Send writes to a non-blocking socket, without SIGPIPE if the peer has closed it. errno is EAGAIN if the socket's
// buffer is full.
func Send(fd int, b []byte) (n int, errno unix.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// Connect begins to connect a non-blocking socket to a raw address. errno is EINPROGRESS while it connects.
func Connect(fd int, address unsafe.Pointer, size uintptr) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(address), size)
	return errno
}

// Close closes a socket. It does not wait, because SO_LINGER is not set: the kernel sends what is left.
func Close(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// Pin binds the calling thread to one CPU. The caller has called runtime.LockOSThread.
func Pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to CPU %d: %w", cpu, err)
	}
	return nil
}

// PreciseTimers lets waits of the calling thread end when they should: by default the kernel
// may delay them by 50 us to save wake-ups (prctl(2), PR_SET_TIMERSLACK). The caller has called
// runtime.LockOSThread.
func PreciseTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_TIMERSLACK): %w", err)
	}
	return nil
}

// Nap sleeps for d, to the microsecond where PreciseTimers was called. Signals end it early.
func Nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	if d <= rawWait {
		_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}
