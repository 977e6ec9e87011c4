package loadtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/lock"
)

// Rights to read. All are for the manager's cache, which holds only what carries our label; get
// is for looking at an object whose name is taken.
//   - loadtests: the work.
//   - configmaps: plans, records of runners and reports.
//   - jobs, pods: the runners.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch

// ownerIndex finds objects by the UID of their controller: names are used again, UIDs are not.
const ownerIndex = "h2surge.ownerUID"

func byOwner(o client.Object) []string {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// addIndexes makes ownerIndex for the kinds that are looked up by it.
func addIndexes(ctx context.Context, mgr ctrl.Manager) error {
	for _, kind := range []client.Object{configMapMetadata(), &batchv1.Job{}, &corev1.Pod{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, kind, ownerIndex, byOwner); err != nil {
			return fmt.Errorf("indexing %T by owner: %w", kind, err)
		}
	}
	return nil
}

// observer reads what a pass knows.
type observer struct {
	cfg       *configv1alpha1.OperatorConfig
	client    client.Reader // the cache
	reader    client.Reader // past the cache
	memory    *memory
	rules     *addressRules // make the address policies of new runs
	address   func(*corev1.Pod) string
	clock     func() time.Time
	podsGrace time.Duration // see Options
}

// facts makes facts with all that the LoadTest owns, each object once.
func (o *observer) facts(ctx context.Context, lt *v1alpha1.LoadTest) (*run.Facts, error) {
	f := &run.Facts{
		Now: o.clock(), Config: o.cfg, LoadTest: lt, PodsGrace: o.podsGrace, Address: o.address, Pods: map[int]*corev1.Pod{},
		View: &shards.View{},
	}
	run, err := o.memory.of(lt).record.Load(ctx, lt)
	if err != nil {
		return nil, err
	}
	take(f, run)
	if err := o.readConfigMaps(ctx, f); err != nil {
		return nil, err
	}
	if err := o.readJobs(ctx, f); err != nil {
		return nil, err
	}
	if err := o.readPods(ctx, f); err != nil {
		return nil, err
	}
	return f, o.readEnded(ctx, f) // it needs the pods
}

func (o *observer) owned(ctx context.Context, namespace string, owner types.UID, list client.ObjectList,
	opts ...client.ListOption) error {
	opts = append(opts, client.InNamespace(namespace), client.MatchingFields{ownerIndex: string(owner)})
	err := o.client.List(ctx, list, opts...)
	if err != nil {
		return fmt.Errorf("listing the objects of %s: %w", owner, err)
	}
	return nil
}

// configMapMetadata is what the cache has of a ConfigMap: a report has up to 1 MiB, and it stays as long as its
// LoadTest.
func configMapMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
}

func (o *observer) readConfigMaps(ctx context.Context, f *run.Facts) error {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	if err := o.owned(ctx, f.LoadTest.Namespace, f.LoadTest.UID, list); err != nil {
		return err
	}
	for i := range list.Items {
		f.ConfigMaps = append(f.ConfigMaps, run.Child{Name: list.Items[i].Name, UID: list.Items[i].UID})
	}
	return nil
}

func (o *observer) readJobs(ctx context.Context, f *run.Facts) error {
	var list batchv1.JobList
	if err := o.owned(ctx, f.LoadTest.Namespace, f.LoadTest.UID, &list); err != nil {
		return err
	}
	for i := range list.Items {
		if job := &list.Items[i]; f.Record.Attempt > 0 && job.Name == desired.JobName(f.LoadTest, f.Record.Attempt) {
			f.Job = job
		} else {
			f.FormerJobs = append(f.FormerJobs, job)
		}
	}
	return nil
}

func (o *observer) readPods(ctx context.Context, f *run.Facts) error {
	var list corev1.PodList
	if f.JobUID() == "" {
		return nil
	}
	// Passes only read pods: copies of the pods of 256 shards would be half of the memory that a pass allocates.
	if err := o.owned(ctx, f.LoadTest.Namespace, f.JobUID(), &list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range pods {
		// else not the Job controller's
		if shard, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
			f.AllPods = append(f.AllPods, pod)
			f.AddPod(shard, pod)
		}
	}
	return nil
}

// waitsOf updates and returns the waits of the present Job.
func (o *observer) waitsOf(f *run.Facts) run.Waits {
	c := o.memory.of(f.LoadTest)
	if c.waits.Job != f.Job.UID {
		c.waits = run.Waits{Job: f.Job.UID}
	}
	w := &c.waits
	if run.JobSuspended(f.Job) {
		w.Admitted = time.Time{}
	} else if w.Admitted.IsZero() {
		w.Admitted = f.Now
	}
	if !run.AllRunning(f) {
		w.Running = time.Time{}
	} else if w.Running.IsZero() {
		w.Running = f.Now
	}
	return *w
}

// readEnded fills the facts with the runners of the record. A run that has ended needs no counts any more.
func (o *observer) readEnded(ctx context.Context, f *run.Facts) error {
	f.Ended = nil
	for i := range f.Record.Shards {
		if err := o.addEnded(ctx, f, &f.Record.Shards[i]); err != nil {
			return err
		}
	}
	return nil
}

// addEnded adds a runner of the record to the facts, with its counts. Its pod is not the pod of the shard any more.
func (o *observer) addEnded(ctx context.Context, f *run.Facts, rec *record.Shard) error {
	stored, err := o.countsOf(ctx, f, rec)
	if err != nil {
		return err
	}
	switch rec = ptr.To(*rec); {
	case stored.missing != "":
		rec.State = record.ShardLost
		decide.WithoutCounts(rec, stored.missing)
	case rec.Counts.Name == "" && stored.snapshot != nil:
		rec.Member = rec.Member || shards.HadSlots(stored.snapshot)
	}
	out := shards.Recorded{Shard: rec, Snapshot: stored.snapshot}
	if rec.Loss != nil {
		// A lost runner can be reached again as long as its container runs.
		if i := slices.IndexFunc(f.AllPods, func(pod *corev1.Pod) bool { return pod.UID == rec.Pod }); i >= 0 {
			out.Address = f.Observe(f.AllPods[i]).Address
		}
	}
	f.Ended = append(f.Ended, out)
	if pod := f.Pods[rec.Index]; pod != nil && pod.UID == rec.Pod {
		delete(f.Pods, rec.Index)
	}
	return nil
}

// counts are the stored snapshot of a runner that ended; nil: there is none. missing says why if the record has one.
type counts struct {
	snapshot *runnerv1alpha1.Snapshot
	missing  string
}

// countsOf returns the counts of a runner of the record. A former operator can have reached a lost runner again, and
// stored counts that the record does not name.
func (o *observer) countsOf(ctx context.Context, f *run.Facts, rec *record.Shard) (counts, error) {
	if rec.Counts.Name == "" && rec.State != record.ShardLost || f.Record.End != nil {
		return counts{}, nil
	}
	c, key := o.memory.of(f.LoadTest), checkpointKey(f, rec.Index, rec.Pod)
	if known, ok := c.counts[key]; ok {
		return known, nil
	}
	stored, err := c.checkpoints.Get(ctx, key)
	if err != nil {
		return counts{}, err
	}
	known := counts{missing: "LoadTestCheckpoint " + rec.Counts.Name + " was deleted"}
	if stored != nil {
		known = counts{stored.Snapshot, stored.Damage}
	}
	if rec.Counts.Name == "" {
		known.missing = "" // the record does not promise counts
	}
	c.counts[key] = known
	return known, nil
}

// lastCheckpoint makes the last checkpoint the counts of a runner that this operator never reached, for example because
// it ended together with the former operator.
func (o *observer) lastCheckpoint(ctx context.Context, f *run.Facts, rec *record.Shard) error {
	c, key := o.memory.of(f.LoadTest), checkpointKey(f, rec.Index, rec.Pod)
	stored, err := c.checkpoints.Get(ctx, key)
	if err != nil || stored == nil {
		return err
	}
	if stored.Snapshot == nil {
		decide.WithoutCounts(rec, stored.Damage)
		return nil
	}
	since := metav1.NewMicroTime(stored.Time)
	rec.Counts = record.Counts{Name: key.Name(), Sequence: stored.Snapshot.Sequence, Dropped: stored.Dropped}
	rec.Member = rec.Member || shards.HadSlots(stored.Snapshot)
	if !stored.Final && rec.Loss != nil {
		rec.Counts.Since = &since
		rec.Loss.Message += fmt.Sprintf("; its counts after %s are missing", stored.Time.UTC().Format(time.RFC3339))
	}
	c.counts[key] = counts{snapshot: stored.Snapshot}
	return nil
}

func checkpointKey(f *run.Facts, shard int, pod types.UID) checkpoint.Key {
	return checkpoint.Key{LoadTest: f.Key(), Run: f.LoadTest.UID, Shard: shard, Pod: pod}
}

// take makes a record that of the pass; nil: none is stored.
func take(f *run.Facts, run *record.Record) {
	f.Stored = run != nil
	if run == nil {
		run = &record.Record{State: record.Pending}
	}
	f.Record = run
}

// noteCheckpoints records for the status that the API server refuses the checkpoints of the run.
func noteCheckpoints(f *run.Facts, err error) {
	if text := refusal.Of(err); text != "" && f.Record.End == nil {
		f.Refuse(run.Refusal{What: "checkpoints", Text: text, Since: f.Now, Next: f.Now.Add(refusal.MaxWait)})
	}
}

// hasLock returns whether the test needs no lock, or the API server has it as the holder.
func (o *observer) hasLock(ctx context.Context, f *run.Facts) (bool, error) {
	if f.LoadTest.Spec.Lock == "" {
		return true, nil
	}
	of, err := o.lock(ctx, o.reader, f)
	return err == nil && lock.Holds(f.LoadTest, of), err
}

// lockInterval is the time between two passes of a test that waits for its lock. A lock that the API server does not
// let go on to another test does not change, so no event says that its holder has ended.
const lockInterval = time.Minute

// unlocked fills the facts with why the test has no lock. A suspended test waits for its user and not for its lock.
func (o *observer) unlocked(ctx context.Context, f *run.Facts) error {
	name := f.LoadTest.Spec.Lock
	if name == "" || f.Held() {
		return nil
	}
	of, err := o.lock(ctx, o.client, f)
	if err != nil || lock.Holds(f.LoadTest, of) {
		return err
	}
	holder, err := lock.Holder(ctx, o.client, of)
	if err != nil {
		return fmt.Errorf("LoadTestLock %s: %w", name, err)
	}
	f.Unlocked = run.NotReady(lock.Reason(of, holder), fmt.Sprintf("lock %s is %s", name, lock.Why(f.LoadTest.Name, of)))
	f.Unlocked.Retry = lockInterval
	return nil
}

// lock returns the lock of the test; nil: it does not exist.
func (o *observer) lock(ctx context.Context, from client.Reader, f *run.Facts) (*statev1alpha1.LoadTestLock, error) {
	out := &statev1alpha1.LoadTestLock{}
	err := from.Get(ctx, client.ObjectKey{Namespace: f.LoadTest.Namespace, Name: f.LoadTest.Spec.Lock}, out)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadTestLock %s: %w", f.LoadTest.Spec.Lock, err)
	}
	return out, nil
}
