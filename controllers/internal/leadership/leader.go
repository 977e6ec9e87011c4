package leadership

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Times of the election in production. Another replica takes the Lease LeaseDuration after the last renewal that it
// saw. The leader decides nothing more from RenewDeadline after it began its last renewal. The difference covers writes
// under way.
const (
	LeaseDuration = 15 * time.Second
	RenewDeadline = 10 * time.Second
	RetryPeriod   = 2 * time.Second
	// deniedAfter is how long the API server must refuse this process (401, 403) in a row until the election is lost. An
	// API server that starts refuses all requests until it knows the roles.
	deniedAfter = time.Minute
)

// Options are the parameters of a Leader.
type Options struct {
	// Namespace and Name of the Lease.
	Namespace, Name string
	// RenewDeadline is that of the election; zero: that of production.
	RenewDeadline time.Duration
	// Away is called once when the Lease could not be renewed for RenewDeadline; nil: nothing is called.
	Away func()
	Log  logr.Logger
}

// requestTimeout is short, so that one request without an answer does not delay the next attempt: 3 s of a deadline of
// 10 s.
func (o *Options) requestTimeout() time.Duration { return o.RenewDeadline * 3 / 10 }

// Leader is a resourcelock.Interface for the election of the manager. It is safe for concurrent use.
type Leader struct {
	resourcelock.Interface
	opts Options
	// retry prepares the next attempt after a request without an answer.
	retry func()

	mu sync.Mutex
	// last is the record as this process wrote it last; nil: this process is not the holder. Guarded by mu.
	last *resourcelock.LeaderElectionRecord
	// renewed is when the last renewal began that succeeded. Guarded by mu.
	renewed time.Time
	// away: Options.Away was called since. Guarded by mu.
	away bool
	// denied is when the API server began to refuse this process without another answer since; zero: it does not. Guarded
	// by mu.
	denied time.Time
	// unread is true between a Get without an answer and the next write. Guarded by mu.
	unread bool
	// term is the greatest number of transitions of the Lease that this process knows. Guarded by mu.
	term int64
	// other is the holder that replaced this process; empty: none did. Guarded by mu. replaced is closed then.
	other    string
	replaced chan struct{}
}

// New returns a Leader for a Lease.
func New(config *rest.Config, opts Options) (*Leader, error) {
	opts.RenewDeadline = cmp.Or(opts.RenewDeadline, RenewDeadline)
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	own := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	own.Timeout = opts.requestTimeout()
	// Connections of its own: a connection that is dead, or busy with other requests, must not delay a renewal.
	own.Dial = (&net.Dialer{Timeout: own.Timeout}).DialContext
	httpClient, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("creating the client of the Lease: %w", err)
	}
	leases, err := coordinationv1.NewForConfigAndClient(own, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating the client of the Lease: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	return newLeader(lock, opts, func() { utilnet.CloseIdleConnectionsFor(httpClient.Transport) }), nil
}

func newLeader(lock resourcelock.Interface, opts Options, retry func()) *Leader {
	opts.RenewDeadline = cmp.Or(opts.RenewDeadline, RenewDeadline)
	if opts.Away == nil {
		opts.Away = func() {}
	}
	return &Leader{Interface: lock, opts: opts, retry: retry, replaced: make(chan struct{})}
}

// Leading returns whether this process may decide: it renewed the Lease less than RenewDeadline ago.
func (l *Leader) Leading() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last != nil && l.other == "" && time.Since(l.renewed) < l.opts.RenewDeadline
}

// Term returns a number that grows with each change of the leader; zero: this process was never the leader.
func (l *Leader) Term() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}

// NeedLeaderElection is false: Start runs before the election.
func (l *Leader) NeedLeaderElection() bool { return false }

// Start returns an error when another process has become the leader after this one, and nil when ctx ends.
func (l *Leader) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-l.replaced:
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Errorf("%s is the leader now: this process did not renew the Lease %s in time", l.other, l.Describe())
	}
}

// Get implements resourcelock.Interface.
func (l *Leader) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.see(record)
		return record, raw, nil
	}
	if last := l.holdsUnknown(err); last != nil {
		l.setUnread(true)
		raw, err := json.Marshal(last)
		return last, raw, err
	}
	return nil, nil, err
}

// setUnread returns the former value.
func (l *Leader) setUnread(v bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.unread
	l.unread = v
	return before
}

// Create implements resourcelock.Interface.
func (l *Leader) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *Leader) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *Leader) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	send func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	if record.HolderIdentity != l.Identity() { // the election releases the Lease
		if !l.release() {
			return errNotHolder
		}
		return send(ctx, record)
	}
	// The number must not fall if the Lease was deleted: runners ignore an operator with a lower term.
	record.LeaderTransitions = max(record.LeaderTransitions, int(l.Term()))
	begin := time.Now()
	err := send(ctx, record)
	unread := l.setUnread(false)
	if err == nil {
		l.renew(record, begin)
		return nil
	}
	if unread && apierrors.IsConflict(err) {
		// The conflict can be with an earlier write of this process whose answer was lost.
		err = errUnread
	}
	if l.holdsUnknown(err) != nil {
		return nil
	}
	return err
}

// errNotHolder: the election read the Lease, which has another holder, and releases it as if it were its own.
var errNotHolder = errors.New("this process does not hold the Lease")

var errUnread = errors.New("the Lease changed, and reading it got no answer")

// renew takes over a successful renewal that began at a time.
func (l *Leader) renew(record resourcelock.LeaderElectionRecord, begin time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		l.opts.Log.Info("The API server answers again, and this process is still the leader", "after",
			begin.Sub(l.renewed).Round(time.Second).String())
	}
	l.last, l.renewed, l.away, l.denied = &record, begin, false, time.Time{}
	l.term = max(l.term, int64(record.LeaderTransitions))
}

// release ends the leadership of this process. It returns whether the process holds the Lease.
func (l *Leader) release() (held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held = l.last != nil && l.other == ""
	l.last = nil
	return held
}

// holdsUnknown returns the last record of this process if it was the holder and err leaves open whether it still is;
// else nil: for example, it may not renew. It calls Away when that is so for RenewDeadline.
func (l *Leader) holdsUnknown(err error) *resourcelock.LeaderElectionRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.other != "" || apierrors.IsConflict(err) || apierrors.IsNotFound(err) ||
		apierrors.IsAlreadyExists(err) || l.isDenied(err) {
		return nil
	}
	l.retry()
	if !l.away && time.Since(l.renewed) >= l.opts.RenewDeadline {
		l.away = true
		l.opts.Log.Error(err, "The API server does not answer: this process continues to poll runners, and decides nothing until it renewed its Lease",
			"lease", l.Describe())
		l.opts.Away()
	}
	last := *l.last
	return &last
}

// isDenied returns whether the API server has refused this process for so long that waiting does not help. The election
// is then lost and the process ends, so that its restarts and the metric of the election show it.
func (l *Leader) isDenied(err error) bool {
	switch {
	case !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err):
		l.denied = time.Time{}
	case l.denied.IsZero():
		l.denied = time.Now()
	}
	return !l.denied.IsZero() && time.Since(l.denied) >= deniedAfter
}

// see takes over the record of the API server. Another holder, or a later term, ends the leadership of this process.
func (l *Leader) see(record *resourcelock.LeaderElectionRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.other != "" {
		return
	}
	if id := record.HolderIdentity; id != l.Identity() && (id != "" || int64(record.LeaderTransitions) > l.term) {
		l.other = "another process"
		if id != "" {
			l.other = id
		}
		close(l.replaced)
	}
}
