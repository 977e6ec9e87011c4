package loadtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/pki"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// errRefused is the error of a write that was not made because the API server refuses it or a name is taken. The facts
// have the reason for the status.
var errRefused = errors.New("a write was refused")

// performer makes the writes of a pass but for the status.
type performer struct {
	client client.Client // asks before each write whether this process leads
	reader client.Reader // past the cache
	pki    *pki.Store
	memory *memory
}

// attempt makes a write of the run. The error can be errRefused. It repeats a refused write after a second, later after
// up to refusal.MaxWait, and passes before that do not call the API server.
func (p *performer) attempt(ctx context.Context, f *run.Facts, what string, write func() error) error {
	c := p.memory.of(f.LoadTest)
	before, refused := c.refused[what]
	if refused && f.Now.Before(before.Next) {
		f.Refuse(before)
		return errRefused
	}
	err := write()
	text := refusal.Of(err)
	if text == "" {
		delete(c.refused, what)
		return conflict(f, err)
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err // ends the run
	}
	if !refused {
		before = run.Refusal{What: what, Since: f.Now}
		logr.FromContextOrDiscard(ctx).Info("The API server refuses a write", "object", what, "message", text)
	}
	before.Text, before.Next = text, f.Now.Add(min(max(f.Now.Sub(before.Since), time.Second), refusal.MaxWait))
	c.refused[what] = before
	f.Refuse(before)
	return errRefused
}

// refusedError returns the refusal that ended a pass without attempt, such as that of a read. ok is false if err is
// not a refusal.
func refusedError(f *run.Facts, err error) (w run.Refusal, ok bool) {
	text := refusal.Of(err)
	if text == "" {
		return w, false
	}
	doing, _, _ := strings.Cut(err.Error(), ": ")
	return run.Refusal{What: doing, Text: text, Since: f.Now, Next: f.Now.Add(refusal.MaxWait)}, true
}

// Rights of operations.
//   - pods delete: a lost runner that does not answer may still send load when the test ends. Only the kubelet can end
//     it.
//   - poddisruptionbudgets create, patch and delete: the budget of a running test. The operator does not read budgets.
//   - secrets delete: the private keys of a run go with its end. The operator deletes the Secret that it created and no
//     other one.
//   - jobs patch and delete: the number of indices; Jobs of earlier attempts, the one whose pods do not end, and those
//     of a test that finished long ago.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=patch;delete

// must makes writes that the rest of the pass relies on. If one is refused, it makes the others, and the error is
// errRefused.
func (p *performer) must(ctx context.Context, f *run.Facts, all ...decide.Operation) (err error) {
	c := p.memory.of(f.LoadTest)
	for _, op := range all {
		if op.Once != "" && c.once[op.What] == op.Once {
			continue
		}
		switch failed := p.attempt(ctx, f, op.What, func() error { return p.do(ctx, f, op) }); {
		case errors.Is(failed, errRefused):
			err = failed
		case failed != nil:
			return failed
		case op.Once != "":
			c.once[op.What] = op.Once
		}
	}
	return err
}

// try makes writes that the rest of the pass does not rely on: the API server can refuse them.
func (p *performer) try(ctx context.Context, f *run.Facts, all ...decide.Operation) error {
	if err := p.must(ctx, f, all...); !errors.Is(err, errRefused) {
		return err
	}
	return nil
}

func (p *performer) do(ctx context.Context, f *run.Facts, op decide.Operation) error {
	switch {
	case op.Apply != nil:
		return p.apply(ctx, op)
	case op.DropCounts:
		return p.memory.of(f.LoadTest).checkpoints.DeleteAll(ctx, f.Key(), f.LoadTest.UID)
	}
	return p.delete(ctx, op)
}

// apply leaves an object alone that a user changed or deleted: its event brings the next pass. With force, only the UID
// can conflict: the object was deleted. Other conflicts are errors, such as that of a ResourceQuota.
func (p *performer) apply(ctx context.Context, op decide.Operation) error {
	options := []client.ApplyOption{client.FieldOwner(op.Manager)}
	if op.Force {
		options = append(options, client.ForceOwnership)
	}
	err := p.client.Apply(ctx, op.Apply, options...)
	if op.Force && apierrors.IsConflict(err) || apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) ||
		apierrors.IsNotFound(err) {
		return nil
	}
	return wrap(err, "applying "+op.What)
}

// delete deletes an object in the background, unless it is gone or another one by now.
func (p *performer) delete(ctx context.Context, op decide.Operation) error {
	how := metav1.DeletePropagationBackground
	if op.Foreground {
		how = metav1.DeletePropagationForeground
	}
	options := []client.DeleteOption{client.PropagationPolicy(how)}
	if uid := op.Delete.GetUID(); uid != "" {
		options = append(options, client.Preconditions{UID: &uid})
	}
	if op.Grace != nil {
		options = append(options, client.GracePeriodSeconds(*op.Grace))
	}
	err := p.client.Delete(ctx, op.Delete, options...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return wrap(err, op.What)
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// store stores a decision in the run record. The caller acts on it only if there is no error.
func (p *performer) store(ctx context.Context, f *run.Facts, change func(*record.Record) error) error {
	var run *record.Record
	err := p.attempt(ctx, f, "LoadTestRun "+desired.RunName(f.LoadTest), func() (err error) {
		run, err = p.memory.of(f.LoadTest).record.Save(ctx, f.LoadTest, func(run *record.Record) error {
			if !f.Stored {
				run.State, run.Created = record.Pending, f.MicroTime()
			}
			return change(run)
		})
		return err
	})
	if err == nil {
		take(f, run)
	}
	return err
}

// storeSnapshot stores the counts of a runner that ended.
func (p *performer) storeSnapshot(ctx context.Context, f *run.Facts, rec *record.Shard, seen *shards.Shard) error {
	encoded, err := checkpoint.Encode(seen.Snapshot, f.Config.Report.MaxBytes)
	if err != nil { // the others must not wait for it, because they send load
		decide.WithoutCounts(rec, err.Error())
		return nil
	}
	c, key := p.memory.of(f.LoadTest), checkpointKey(f, rec.Index, rec.Pod)
	err = p.attempt(ctx, f, "LoadTestCheckpoint "+key.Name(), func() error {
		return c.checkpoints.Put(ctx, key, encoded, rec.State == record.ShardDone, seen.Received)
	})
	if err != nil {
		return err
	}
	rec.Counts = record.Counts{Name: key.Name(), Sequence: encoded.Sequence, Dropped: encoded.Dropped}
	c.counts[key] = counts{snapshot: seen.Snapshot}
	return nil
}
