package leadership

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var requestTimeout = (&Options{RenewDeadline: RenewDeadline}).requestTimeout()

// server is an API server with one Lease.
type server struct {
	mu      sync.Mutex
	record  *resourcelock.LeaderElectionRecord
	version int
	// fault is the answer to every request; nil: the request succeeds. Requests that hang end after requestTimeout.
	fault error
	hangs bool
	// late: writes happen, although their answer is fault.
	late bool
}

var (
	errGone  = errors.New("connection refused")
	resource = schema.GroupResource{Resource: "leases"}
)

func (s *server) set(f func(*server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *server) answer() error {
	s.mu.Lock()
	hangs, fault := s.hangs, s.fault
	s.mu.Unlock()
	if hangs {
		time.Sleep(requestTimeout)
		return context.DeadlineExceeded
	}
	return fault
}

// lock is the view of one process.
type lock struct {
	*server
	id      string
	version int
}

func (l *lock) Identity() string   { return l.id }
func (l *lock) Describe() string   { return "surge/manager" }
func (l *lock) RecordEvent(string) {}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := l.answer(); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(resource, "manager")
	}
	out := *l.record
	l.version = l.server.version
	raw, err := json.Marshal(out)
	return &out, raw, err
}

func (l *lock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.put(r, true)
}
func (l *lock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.put(r, false)
}

func (l *lock) put(r resourcelock.LeaderElectionRecord, create bool) error {
	err := l.answer()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !l.late {
		return err
	}
	switch {
	case create && l.record != nil:
		return apierrors.NewAlreadyExists(resource, "manager")
	case !create && l.record == nil:
		return apierrors.NewNotFound(resource, "manager")
	case !create && l.version != l.server.version:
		return apierrors.NewConflict(resource, "manager", nil)
	}
	l.record = &r
	l.server.version++
	if err == nil {
		l.version = l.server.version
	}
	return err
}

// process is a replica of the operator.
type process struct {
	*Leader
	mu               sync.Mutex
	elected, stopped bool
	err              error
	away             int
	log              []string
	// end ends the process as SIGTERM does.
	end func()
}

func (s *server) start(t *testing.T, id string) *process {
	t.Helper()
	return startWith(t, &lock{server: s, id: id})
}

func startWith(t *testing.T, lock resourcelock.Interface) *process {
	t.Helper()
	p := &process{}
	p.Leader = newLeader(lock, Options{
		Away: func() { p.away++ },
		Log:  funcr.New(func(_, args string) { p.log = append(p.log, args) }, funcr.Options{}),
	}, func() {})
	ctx, cancel := context.WithCancel(t.Context())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: p.Leader, LeaseDuration: LeaseDuration, RenewDeadline: RenewDeadline, RetryPeriod: RetryPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { p.mu.Lock(); defer p.mu.Unlock(); p.elected = true },
			OnStoppedLeading: func() { p.mu.Lock(); defer p.mu.Unlock(); p.stopped = true },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { elector.Run(ctx) })
	all.Go(func() {
		err := p.Leader.Start(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = err
	})
	p.end = func() { cancel(); all.Wait() }
	return p
}

func (p *process) want(t *testing.T, when string, elected, leading, stopped bool) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.elected != elected || p.Leading() != leading || p.stopped != stopped {
		t.Errorf("%s: elected %t, leading %t, stopped %t; want %t, %t, %t", when, p.elected, p.Leading(), p.stopped, elected, leading, stopped)
	}
}

func (p *process) replacedBy(t *testing.T, holder string) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil || !strings.HasPrefix(p.err.Error(), holder+" is the leader now") {
		t.Errorf("error %v, want one that names %s", p.err, holder)
	}
}

// TestConfigStays: the configuration of the API server is that of other clients, too.
func TestConfigStays(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	if _, err := New(config, Options{Namespace: "a", Name: "b"}); err != nil {
		t.Fatal(err)
	}
	if config.UserAgent != "" || config.Timeout != 0 || config.Dial != nil {
		t.Errorf("user agent %q, timeout %v, own connections %t; want none", config.UserAgent, config.Timeout, config.Dial != nil)
	}
}

// TestAway: the process stays for as long as the API server does not answer, decides nothing, and leads again soon after.
func TestAway(t *testing.T) {
	for name, fault := range map[string]func(*server){
		"refuses connections": func(s *server) { s.fault = errGone },
		"hangs":               func(s *server) { s.hangs = true },
		"answers with 500":    func(s *server) { s.fault = apierrors.NewInternalError(errGone) },
		"writes late":         func(s *server) { s.fault, s.late = errGone, true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				p := s.start(t, "a")
				defer p.end()
				time.Sleep(time.Minute)
				p.want(t, "before", true, true, false)
				s.set(fault)
				time.Sleep(RenewDeadline - RetryPeriod - requestTimeout)
				p.want(t, "in the first seconds", true, true, false)
				time.Sleep(RetryPeriod + requestTimeout)
				p.want(t, "after the deadline", true, false, false)
				time.Sleep(30 * time.Minute)
				p.want(t, "after half an hour", true, false, false)
				if p.away != 1 || len(p.log) != 1 {
					t.Errorf("Away was called %d times, log %q; want once each", p.away, p.log)
				}
				s.set(func(s *server) { s.fault, s.hangs, s.late = nil, false, false })
				time.Sleep(RetryPeriod + requestTimeout)
				p.want(t, "soon after the return", true, true, false)
				if p.Term() != 0 || s.record.LeaderTransitions != 0 || len(p.log) != 2 {
					t.Errorf("term %d, %d transitions, log %q; want the same term, and a message", p.Term(), s.record.LeaderTransitions, p.log)
				}
			})
		})
	}
}

// TestDenied: a process that may no longer renew its Lease ends. It waits for an API server that starts, and knows no roles yet.
func TestDenied(t *testing.T) {
	for name, fault := range map[string]error{
		"forbidden":    apierrors.NewForbidden(resource, "manager", errGone),
		"unauthorized": apierrors.NewUnauthorized("the token has expired"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				p := s.start(t, "a")
				defer p.end()
				time.Sleep(time.Minute)
				s.set(func(s *server) { s.fault = fault })
				time.Sleep(deniedAfter - maxAttemptInterval)
				p.want(t, "while the roles may come", true, false, false)
				s.set(func(s *server) { s.fault = nil })
				time.Sleep(maxAttemptInterval)
				p.want(t, "with roles again", true, true, false)
				s.set(func(s *server) { s.fault = fault })
				time.Sleep(deniedAfter + RenewDeadline + 2*maxAttemptInterval)
				p.want(t, "without the right for good", true, false, true)
			})
		})
	}
}

// maxAttemptInterval is the longest time between two attempts of the election: client-go adds up to 1.2 periods of jitter.
const maxAttemptInterval = RetryPeriod + RetryPeriod*12/10

// TestSuccessor: the second process takes the Lease of one that is gone as soon as without a Leader, with a higher term.
func TestSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		first := s.start(t, "a")
		time.Sleep(time.Second)
		second := s.start(t, "b")
		defer second.end()
		time.Sleep(time.Minute)
		second.want(t, "while the first leads", false, false, false)
		first.end() // releases the Lease
		time.Sleep(maxAttemptInterval)
		second.want(t, "after the end of the first", true, true, false)
		if second.Term() <= first.Term() {
			t.Errorf("term %d after %d", second.Term(), first.Term())
		}
	})
}

// TestCutOff: a process that alone does not reach the API server ends when it sees its successor, and not before.
func TestCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		cut := &cutLock{Interface: &lock{server: s, id: "a"}}
		first := startWith(t, cut)
		time.Sleep(time.Minute)
		second := s.start(t, "b")
		defer second.end()
		cut.set(errGone)
		time.Sleep(LeaseDuration + 2*maxAttemptInterval) // b sees the last renewal one interval late, and its end one interval late
		second.want(t, "after the Lease ran out", true, true, false)
		first.want(t, "cut off", true, false, false)
		cut.set(nil)
		time.Sleep(2 * RetryPeriod)
		first.replacedBy(t, "b")
		if first.Leading() {
			t.Error("the first process decides although the second leads")
		}
		first.end()
		time.Sleep(LeaseDuration)
		second.want(t, "after the end of the first", true, true, false)
	})
}

// cutLock is a lock whose process can be cut off.
type cutLock struct {
	resourcelock.Interface
	mu  sync.Mutex
	err error
}

func (c *cutLock) set(err error) { c.mu.Lock(); defer c.mu.Unlock(); c.err = err }
func (c *cutLock) fault() error  { c.mu.Lock(); defer c.mu.Unlock(); return c.err }

func (c *cutLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := c.fault(); err != nil {
		return nil, nil, err
	}
	return c.Interface.Get(ctx)
}

func (c *cutLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if err := c.fault(); err != nil {
		return err
	}
	return c.Interface.Update(ctx, r)
}

// TestReplacedAndReleased: the successor came and went meanwhile. The term shows it.
func TestReplacedAndReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.start(t, "a")
		defer p.end()
		time.Sleep(time.Second)
		s.set(func(s *server) {
			s.record = &resourcelock.LeaderElectionRecord{LeaderTransitions: 1}
			s.version++
		})
		time.Sleep(2 * RetryPeriod)
		p.replacedBy(t, "another process")
	})
}

// TestReleasesOnlyItsOwn: a process that was stopped, and ends when it continues, does not release the Lease of its successor.
func TestReleasesOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.start(t, "a")
		time.Sleep(time.Second)
		s.set(func(s *server) {
			s.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "b", LeaderTransitions: 1}
			s.version++
		})
		p.end()
		if s.record.HolderIdentity != "b" {
			t.Errorf("the holder is %q", s.record.HolderIdentity)
		}
	})
}

// TestLeaseDeleted: the process creates it again and remains the leader; the term does not fall.
func TestLeaseDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{record: &resourcelock.LeaderElectionRecord{LeaderTransitions: 7}}
		p := s.start(t, "a")
		defer p.end()
		time.Sleep(time.Second)
		if p.Term() != 8 {
			t.Fatalf("term %d, want 8", p.Term())
		}
		s.set(func(s *server) { s.record = nil })
		time.Sleep(2 * RetryPeriod)
		p.want(t, "after the deletion", true, true, false)
		time.Sleep(time.Minute)
		if p.Term() != 8 || s.record.LeaderTransitions != 8 {
			t.Errorf("term %d, %d transitions, want 8", p.Term(), s.record.LeaderTransitions)
		}
	})
}

// TestEndWhileAway: SIGTERM ends the process although the API server does not answer.
func TestEndWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.start(t, "a")
		time.Sleep(time.Second)
		s.set(func(s *server) { s.hangs = true })
		time.Sleep(time.Minute)
		begin := time.Now()
		p.end()
		if d := time.Since(begin); d > RenewDeadline {
			t.Errorf("the end took %s", d)
		}
		if !p.stopped || p.Leading() {
			t.Errorf("stopped %t, leading %t after the end", p.stopped, p.Leading())
		}
	})
}
