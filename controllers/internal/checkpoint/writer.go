package checkpoint

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
)

// Source knows the runners of all runs.
type Source interface {
	// Live returns the runners that can have counts and are not stored as final.
	Live() []Key
	// Latest returns the last snapshot of a runner, and when it was received; nil: there is none, or the runner is not
	// live any more.
	Latest(Key) (*runnerv1alpha1.Snapshot, time.Time)
}

// Options are the parameters of a Writer.
type Options struct {
	Source Source
	// BytesPerSecond is the budget for all checkpoints together.
	BytesPerSecond int
	// Interval is the time between two checkpoints of a runner if the budget allows it; zero: MinInterval.
	Interval time.Duration
	// Leading returns whether this process is the leader. The Writer writes nothing otherwise.
	Leading func() bool
	// Changed is called after Problem has another result for a run. It must not block.
	Changed func(types.NamespacedName)
	Log     logr.Logger
}

// MinInterval is the time between two checkpoints of a runner in production. With many runners it is longer: the bytes
// of all checkpoints divided by the budget.
const MinInterval = 5 * time.Second

// putTimeout is the timeout of one write.
const putTimeout = 5 * time.Second

// overhead is the size of an object without its snapshot, about.
const overhead = 1 << 10

// Writer stores the snapshots of all live runners in turn. It skips a runner whose counts have not changed.
type Writer struct {
	stores func(Key) *Store
	opts   Options
	// next is the time of the next write. The budget is spent until then.
	next time.Time

	mu    sync.Mutex
	known map[Key]*written                 // the runners of the last round; guarded by mu
	runs  map[types.UID]*problem           // the runs with a write that was refused; guarded by mu
	stats struct{ bytes, refused float64 } // guarded by mu
}

// written is what the Writer knows of a runner.
type written struct {
	// counters and state are those of the last checkpoint; at is when its snapshot was received, or the time when the
	// runner was first seen.
	counters runnerv1alpha1.Counters
	state    runnerv1alpha1.State
	stored   bool
	at       time.Time
	// failed is the time of the last write if it failed; zero: it did not.
	failed time.Time
	// size is what the last checkpoint took of the budget.
	size int
}

// problem is the refused write of a run: of the runner that was first refused, until what that one has is stored. If it
// ends before, another runner of the run takes its place.
type problem struct {
	key Key
	err error
}

// NewWriter returns a Writer that has not started. stores returns the Store of the run of a runner; nil: the run is not
// known any more.
func NewWriter(stores func(Key) *Store, opts Options) *Writer {
	opts.Interval = cmp.Or(opts.Interval, MinInterval)
	return &Writer{stores: stores, opts: opts, known: map[Key]*written{}, runs: map[types.UID]*problem{}}
}

// NeedLeaderElection is true: only the leader polls runners.
func (w *Writer) NeedLeaderElection() bool { return true }

// Start writes checkpoints until ctx ends.
func (w *Writer) Start(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			w.round(ctx)
		}
	}
}

// Problem returns why the API server refuses checkpoints of a run; nil: it does not.
func (w *Writer) Problem(run types.UID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.runs[run]; p != nil {
		return p.err
	}
	return nil
}

// round writes a checkpoint of each runner whose counts changed, the oldest checkpoint first.
func (w *Writer) round(ctx context.Context) {
	keys := w.opts.Source.Live()
	for _, loadTest := range w.take(keys, time.Now()) {
		w.opts.Changed(loadTest)
	}
	slices.SortStableFunc(keys, w.order)
	refused := map[types.UID]bool{}
	for _, key := range keys {
		if refused[key.Run] || !w.opts.Leading() {
			continue
		}
		err := w.write(ctx, key)
		if ctx.Err() != nil {
			return
		}
		w.tried(key, err)
		switch {
		case err == nil:
		case refusal.Of(err) != "":
			refused[key.Run] = true // a quota or a policy holds for the other shards of the run, too
		default:
			w.opts.Log.V(1).Info("A checkpoint was not stored", "loadTest", key.LoadTest, "shard", key.Shard, "error",
				err.Error())
			if !passes(err) {
				return
			}
		}
	}
}

// order compares when two runners are due in a round. One that failed comes last, so that it keeps no other from being
// stored.
func (w *Writer) order(a, b Key) int {
	x, y := w.known[a], w.known[b]
	return cmp.Or(x.failed.Compare(y.failed), x.at.Compare(y.at))
}

// take sets the runners that are live now. It returns the LoadTests whose problem ended with their last runner.
func (w *Writer) take(keys []Key, now time.Time) (ended []types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, heirs := make(map[Key]*written, len(keys)), map[types.UID]Key{}
	for _, key := range keys {
		known[key] = cmp.Or(w.known[key], &written{at: now})
		if heir, ok := heirs[key.Run]; !ok || known[key].failed.After(known[heir].failed) {
			heirs[key.Run] = key
		}
	}
	w.known = known
	return w.bequeath(heirs)
}

// bequeath makes the problem of a runner that is not live any more that of the run's heir: only a write tells whether
// the cause is gone. The heir is the runner that failed last, because the write of another one can succeed.
func (w *Writer) bequeath(heirs map[types.UID]Key) (ended []types.NamespacedName) {
	for run, p := range w.runs {
		heir, ok := heirs[run]
		switch {
		case w.known[p.key] != nil:
		case ok:
			p.key = heir
		default:
			delete(w.runs, run)
			ended = append(ended, p.key.LoadTest)
		}
	}
	return ended
}

// write stores the last snapshot of a runner when the budget allows it.
func (w *Writer) write(ctx context.Context, key Key) error {
	if !w.wait(ctx) {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	store := w.stores(key)
	s, received := w.opts.Source.Latest(key)
	if store == nil || s == nil {
		return nil
	}
	if w.isStored(key, s, received) {
		w.report(key, nil)
		return nil
	}
	e, err := Encode(s, MaxBytes)
	if err != nil {
		w.report(key, err)
		return nil
	}
	size := base64.StdEncoding.EncodedLen(len(e.Gzip)) + overhead
	w.next = time.Now().Add(time.Duration(size) * time.Second / time.Duration(w.opts.BytesPerSecond))
	err = store.Put(ctx, key, e, false, received)
	if err != nil && refusal.Of(err) == "" {
		return err
	}
	w.report(key, err)
	if err == nil {
		w.done(key, s, size, received)
	}
	return err
}

// tried notes whether a write failed. If it has no answer, a webhook can be the reason, which has the other runners of
// the run wait, too.
func (w *Writer) tried(key Key, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.known[key].failed = time.Time{}
		return
	}
	now := time.Now()
	for other, k := range w.known {
		if other == key || other.Run == key.Run && !passes(err) {
			k.failed = now
		}
	}
}

// wait returns true when the budget allows the next write, and false when ctx ends before.
func (w *Writer) wait(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(w.next))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (w *Writer) isStored(key Key, s *runnerv1alpha1.Snapshot, received time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.known[key]
	if !k.stored || k.counters != s.Counters || k.state != s.State {
		return false
	}
	k.at = received // the checkpoint has the counts of this snapshot, too
	return true
}

func (w *Writer) done(key Key, s *runnerv1alpha1.Snapshot, size int, received time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[key] = &written{counters: s.Counters, state: s.State, stored: true, at: received, size: size}
	w.stats.bytes += float64(size)
}

// report sets the result of the last write of a runner. It logs, and calls Changed, if the run has a problem now and
// had none before, or the other way round.
func (w *Writer) report(key Key, err error) {
	switch before, after := w.note(key, err); {
	case before == nil && after != nil:
		w.opts.Log.Error(err, "Checkpoints are not stored", "loadTest", key.LoadTest)
	case before != nil && after == nil:
		w.opts.Log.Info("Checkpoints are stored again", "loadTest", key.LoadTest)
	default:
		return
	}
	w.opts.Changed(key.LoadTest)
}

// note returns the problem of the run before and after a write of a runner; nil: there is none.
func (w *Writer) note(key Key, err error) (before, after *problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.stats.refused++
	}
	before = w.runs[key.Run]
	switch {
	case before != nil && before.key != key: // the problem of another runner stays
	case err != nil:
		w.runs[key.Run] = &problem{key, err}
	default:
		delete(w.runs, key.Run)
	}
	return before, w.runs[key.Run]
}

// passes returns true if the API server answered err for reasons of this object only, such as a namespace that is gone.
// Otherwise it does not answer, or is overloaded.
func passes(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusUnauthorized && code != http.StatusTooManyRequests
}

// interval returns the time between two checkpoints of a runner that follows from the budget.
func (w *Writer) interval() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	bytes := 0
	for _, k := range w.known {
		bytes += k.size
	}
	return max(w.opts.Interval, time.Duration(bytes)*time.Second/time.Duration(w.opts.BytesPerSecond))
}

// age returns the age of the oldest checkpoint of a live runner.
func (w *Writer) age(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var age time.Duration
	for _, k := range w.known {
		age = max(age, now.Sub(k.at))
	}
	return age
}
