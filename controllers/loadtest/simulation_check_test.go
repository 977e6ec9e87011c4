package loadtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// TestSimulation drives LoadTests through random events: edits of the spec, failures of runners, nodes, networks, the API server and operators.
// After each event:
//   - each slot was sent by one runner, except that a runner which got a change late may have sent slots of others until then;
//   - a runner has only changes of the record, and only runners of the Job that started have a start, which is the same for all;
//   - the record only moves forward, and does not change after Finished;
//   - the counts of status do not decrease;
//   - the record has each runner that ended before the test, with its counts if a checkpoint of it was stored;
//   - a runner that an operator reaches for 8 seconds has the newest change of the record, and has stopped if the record says so;
//   - nothing is sent after Finished. With a lost runner that no operator reaches and that has no lease, this holds 5 seconds later if its kubelet
//     answers.
//
// After the end of all faults, the test finishes, its result has each request that was sent unless it says that counts are missing, and no
// runner and no Secret of it remains. After the TTL of finished tests, no Job and no pod remains, and the status has not changed.
func TestSimulation(t *testing.T) {
	events := *simulatedEvents
	switch {
	case events > 0:
	case *simulatedSeed >= 0:
		events = 1
	default:
		events = 5000
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var done, next atomic.Int64
	next.Store(max(0, *simulatedSeed))
	var mu sync.Mutex
	outcomes := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for n := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				for done.Load() < int64(events) && !t.Failed() {
					synctest.Test(t, func(t *testing.T) {
						w := simulate(t, uint64(next.Add(1)-1), &done)
						mu.Lock()
						defer mu.Unlock()
						outcomes[w.record.End.Reason]++
					})
				}
			})
		}
	})
	t.Logf("%d events; %v", done.Load(), outcomes)
}

// FuzzSimulation is TestSimulation with other seeds.
func FuzzSimulation(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed, new(atomic.Int64)) })
	})
}

// simulate lets random events happen to one LoadTest until it has finished, and some more.
func simulate(t *testing.T, seed uint64, done *atomic.Int64) *simulation {
	t.Helper()
	w := newSimulation(t, seed)
	defer w.stopOperators()
	w.startOperator(0)
	for n := range 400 {
		w.happen()
		w.pause()
		if done.Add(1); t.Failed() {
			t.Fatalf("seed %d, event %d", seed, n)
		}
		if !w.finished.IsZero() && w.random.IntN(20) == 0 {
			break
		}
	}
	if w.finish(); t.Failed() {
		t.Fatalf("seed %d, at the end", seed)
	}
	return w
}

// wrote checks a write. The caller holds the lock of the API server.
func (w *simulation) wrote(before, after client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch after := after.(type) {
	case *v1alpha1.LoadTest:
		if before != nil {
			w.checkStatus(&before.(*v1alpha1.LoadTest).Status, &after.Status)
		}
	case *statev1alpha1.LoadTestRun:
		next := &record.Record{}
		if err := json.Unmarshal(after.Record.Raw, next); err != nil {
			w.failf("the record: %v", err)
			return
		}
		w.checkRecord(w.record, next)
		w.noteOrders(w.record, next)
		w.record = next
	case *statev1alpha1.LoadTestCheckpoint:
		w.checkpoints[after.Name] = time.Now()
	case nil:
		if _, ok := before.(*statev1alpha1.LoadTestRun); ok {
			w.recordDeleted = true
		}
	}
}

func (w *simulation) checkStatus(was, is *v1alpha1.LoadTestStatus) {
	if !was.StartTime.IsZero() && !was.StartTime.Equal(is.StartTime) {
		w.failf("startTime changed from %v to %v", was.StartTime, is.StartTime)
	}
	if was.CompletionTime != nil && !was.CompletionTime.Equal(is.CompletionTime) {
		w.failf("completionTime changed from %v to %v", was.CompletionTime, is.CompletionTime)
	}
	if is.Results == nil {
		if was.Results != nil {
			w.failf("status has no results any more")
		}
		return
	}
	if n := is.Results.Requests.Sent; n < w.shown && (is.CompletionTime == nil || !is.Results.Partial) {
		w.failf("requests.sent went back from %d to %d; phase %s", w.shown, n, is.Phase)
	} else {
		w.shown = n
	}
	if is.Results.Requests.Sent > w.sent {
		w.failf("status shows %d requests; the runners sent %d", is.Results.Requests.Sent, w.sent)
	}
}

func (w *simulation) checkRecord(was, is *record.Record) {
	if was == nil {
		return
	}
	if was.Start != nil && !reflect.DeepEqual(was.Start, is.Start) {
		w.failf("the start changed:\n%s", cmp.Diff(was.Start, is.Start))
	}
	if was.State == record.Finished {
		w.failf("the record of a finished run changed:\n%s", cmp.Diff(was, is))
		return
	}
	order := []record.State{record.Running, record.Stopping, record.Finishing, record.Finished}
	if slices.Index(order, is.State) < slices.Index(order, was.State) {
		w.failf("state %s after %s", is.State, was.State)
	}
	if was.Stop != nil && !reflect.DeepEqual(was.Stop, is.Stop) {
		w.failf("the decision to stop changed from %+v to %+v", was.Stop, is.Stop)
	}
	if is.Live.Generation < was.Live.Generation {
		w.failf("generation %d after %d", is.Live.Generation, was.Live.Generation)
	}
	for i := range is.Shards {
		if first := is.Find(is.Shards[i].Index, is.Shards[i].Pod); first != &is.Shards[i] {
			w.failf("two entries of shard %d, pod %s", first.Index, first.Pod)
		}
	}
	for i := range was.Shards {
		old := &was.Shards[i]
		now := is.Find(old.Index, old.Pod)
		if now == nil || now.Counts.Sequence < old.Counts.Sequence || old.State == record.ShardDone && now.State != record.ShardDone {
			w.failf("shard %d was stored as %+v and is %+v", old.Index, old, now)
		}
	}
	if was.Start != nil {
		for i := 1; i < len(is.Changes); i++ {
			if a, b := &is.Changes[i-1], &is.Changes[i]; b.Revision != a.Revision+1 || b.At < a.At {
				w.failf("change %+v after %+v", b, a)
			}
		}
	}
	w.checkCounts(was, is)
	if is.State == record.Finished {
		w.checkEnd(is)
	}
}

// checkCounts: the record has the counts of each runner that ended, if a checkpoint of it was stored before.
func (w *simulation) checkCounts(was, is *record.Record) {
	for i := range is.Shards {
		rec := &is.Shards[i]
		if was.Find(rec.Index, rec.Pod) != nil {
			continue
		}
		key := checkpoint.Key{LoadTest: types.NamespacedName{Namespace: "default", Name: simulated}, Run: simulatedUID, Shard: rec.Index, Pod: rec.Pod}
		if at, stored := w.checkpoints[key.Name()]; stored && at.Before(time.Now()) && rec.Counts.Name == "" {
			w.failf("the record has no counts of shard %d; its checkpoint is of %v", rec.Index, at)
		}
	}
}

func (w *simulation) noteOrders(was, is *record.Record) {
	if was == nil || was.Start == nil || (was.Stop == nil) != (is.Stop == nil) || (was.End == nil) != (is.End == nil) ||
		was.Newest().Revision != is.Newest().Revision {
		w.ordered = time.Now()
	}
}

// checkOrders: a runner that an operator reaches for some time does what the record says. It has stopped, or it has the newest change
// if its load is not over.
func (w *simulation) checkOrders() {
	const inTime = 8 * time.Second
	now := time.Now()
	if w.api.down || len(w.operators) != 1 || w.operators[0].cut.Load() {
		w.disturbed = now
	}
	rec := w.record
	waits := rec == nil || rec.Start == nil || w.recordDeleted || now.Sub(w.disturbed) < inTime || now.Sub(w.ordered) < inTime || w.Failed()
	for _, p := range w.processes {
		if p.cut || p.node || p.mute || p.frozen {
			p.disturbed = now
		}
		switch {
		case waits || p.dead || p.done || p.job != rec.Start.Job || now.Sub(p.disturbed) < inTime:
		case rec.End != nil && len(p.changes) == 0: // it has no share, and ends with its Job
		case rec.Stop != nil || rec.End != nil:
			w.failf("runner %s does not hear of the stop: %s", p.pod, w.describe())
		case p.startAt != 0 && p.state() == runnerv1alpha1.StateRunning && p.last().Revision < rec.Newest().Revision:
			w.failf("runner %s does not get change %d: %s", p.pod, rec.Newest().Revision, w.describe())
		}
	}
}

// checkEnd compares the result with what was sent.
func (w *simulation) checkEnd(is *record.Record) {
	for _, p := range w.processes {
		p.advance()
	}
	w.finished = time.Now()
	if is.End.Results == nil {
		if w.sent > 0 {
			w.failf("no result of %d requests", w.sent)
		}
		return
	}
	defer func() {
		if w.Failed() {
			raw, _ := json.Marshal(is)
			w.Logf("%s", raw)
			for _, p := range w.processes {
				w.Logf("%s member of %+v, stages %+v done %t %q dead %t cut %t %d", p.pod, p.last(), p.stages, p.done, p.stopped, p.dead, p.cut, p.sequence)
			}
		}
	}()
	for _, p := range w.processes {
		if p.dead && !p.done && p.startAt != 0 && is.Find(p.index, p.uid) == nil {
			w.failf("runner %s is lost, and the record does not have it", p.pod)
		}
	}
	reported := is.End.Results.Requests.Sent
	if complete := !is.End.Results.Partial; reported > w.sent || complete && reported != w.sent {
		w.failf("the result has %d requests, complete: %t; the runners sent %d", reported, complete, w.sent)
	}
}

// checkChange: a runner of the test gets only changes that are stored.
func (w *simulation) checkChange(p *process, m *runnerv1alpha1.Update) {
	if m.At == 0 || w.record.Start == nil {
		return
	}
	if !slices.ContainsFunc(w.record.Changes, func(c record.Change) bool {
		return c.Revision == m.Revision && c.At == m.At && slices.Equal(c.Members, m.Members)
	}) {
		w.failf("runner %s got revision %d, which the record does not have", p.pod, m.Revision)
	}
}

// checkStart: the start is stored, and all runners start at the same time. If all that started have ended or were lost, an operator that
// takes over cannot know when that was.
func (w *simulation) checkStart(p *process) {
	if w.record.Start == nil || w.record.Start.Job != p.job {
		w.failf("runner %s got a start that is not stored", p.pod)
		return
	}
	at := p.zero.Add(time.Duration(p.startAt))
	if !w.othersStarted(p) {
		w.begun = at
	}
	if at.Sub(w.begun).Abs() > 10*time.Millisecond {
		w.failf("runner %s starts at %v, others at %v", p.pod, at, w.begun)
	}
}

// othersStarted returns true if a runner apart from p has a start, and has neither ended nor been lost.
func (w *simulation) othersStarted(p *process) bool {
	for _, o := range w.processes {
		if o == p || o.startAt == 0 || o.dead || o.job != p.job {
			continue
		}
		if rec := w.record.Find(o.index, o.uid); rec == nil || rec.Loss == nil {
			return true
		}
	}
	return false
}

// checkSend: no other runner sent the slot, and this one may send.
func (w *simulation) checkSend(p *process, number, offset int64) {
	stage := p.position.stage
	if !p.plan.Rates[stage].WarmUp {
		w.sent++
	}
	now := p.zero.Add(time.Duration(p.startAt + offset))
	rec := w.record.Find(p.index, p.uid)
	if p.plan.LeaseDuration > 0 && rec != nil && rec.Loss != nil && now.After(rec.Loss.Time) {
		w.failf("runner %s sent at %v, after it was lost: %s", p.pod, now, rec.Loss.Message)
	}
	if after := now.Sub(w.finished); !w.finished.IsZero() && after > 0 && (after > 5*time.Second || p.plan.LeaseDuration > 0 || rec == nil) && (!p.unfenced || p.plan.LeaseDuration > 0) {
		w.failf("runner %s sent %v after the test finished", p.pod, after)
	}
	late := slices.ContainsFunc(w.record.Changes, func(c record.Change) bool { return c.At != 0 && c.At <= offset && c.Revision > p.last().Revision })
	id := slotID{stage, number}
	other, sent := w.owners[id]
	if sent && !late && !other.late {
		w.failf("runners %s and %s sent slot %d of stage %d", other.process.pod, p.pod, number, stage)
	}
	w.owners[id] = sender{p, late}
}
