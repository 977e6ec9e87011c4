package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// loadtestcheckpoints: the operator writes the counts of runners (create, update), reads those of a runner that it
// cannot ask (get), and deletes all of a run when the report is stored (deletecollection). No list and no watch: a
// cache would receive each checkpoint again.
//
// +kubebuilder:rbac:groups=internal.h2surge.io,resources=loadtestcheckpoints,verbs=create;deletecollection;get;update

// LabelRun is the label with the UID of the LoadTest. A new LoadTest of the same name has another one.
const LabelRun = "h2surge.io/run"

// Key identifies the checkpoint of a runner.
type Key struct {
	// LoadTest and Run are the name and the UID of the LoadTest.
	LoadTest types.NamespacedName
	Run      types.UID
	Shard    int
	// Pod is the UID of the runner's pod. A shard has several pods if it was scaled down and up again.
	Pod types.UID
}

// Name returns the name of the object: "orders-3f2a9c1e-0-77be01d4".
func (k Key) Name() string {
	return strings.Join([]string{k.LoadTest.Name, short(k.Run), strconv.Itoa(k.Shard), short(k.Pod)}, "-")
}

// short returns the first group of a UID.
func short(uid types.UID) string {
	s, _, _ := strings.Cut(string(uid), "-")
	return s
}

// Checkpoint is what is stored of a runner.
type Checkpoint struct {
	// Snapshot is nil if Damage says why what is stored is not one of the runner.
	Snapshot *runnerv1alpha1.Snapshot
	Damage   string
	// Final is true if the runner sends no more requests.
	Final bool
	// Time is when the operator received the snapshot.
	Time time.Time
	// Dropped names the parts of the snapshot that are missing.
	Dropped []string
}

// Store reads and writes the LoadTestCheckpoints of one run. It is safe for concurrent use.
type Store struct {
	reader client.Reader
	client client.Client

	// writes are under way. The deletion of all objects waits for their end.
	writes sync.WaitGroup

	mu     sync.Mutex
	closed bool // all are deleted, so no write begins; guarded by mu
	// written are the objects by name as this process wrote them last, without their content; guarded by mu.
	written map[string]*statev1alpha1.LoadTestCheckpoint
}

// NewStore returns a Store. reader must read past the cache.
func NewStore(reader client.Reader, c client.Client) *Store {
	return &Store{reader: reader, client: c, written: map[string]*statev1alpha1.LoadTestCheckpoint{}}
}

// attempts is how often Put repeats a write after a conflict. Only a former leader that is about to end writes the same
// object.
const attempts = 3

// Put stores a snapshot. It leaves the stored one if that is final, has a higher sequence number, or is of another
// process: the counts of a new process start at zero. It also leaves one with the same sequence number, unless the new
// one is final or lacks fewer parts. received is when the operator received the snapshot. After DeleteAll it stores
// nothing.
func (s *Store) Put(ctx context.Context, key Key, e Encoded, final bool, received time.Time) error {
	if !s.begin() {
		return nil
	}
	defer s.writes.Done()
	var err error
	for range attempts {
		if err = s.put(ctx, key, e, final, received); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("storing the checkpoint of shard %d: %w", key.Shard, err)
	}
	return nil
}

// begin returns whether a write may begin. It then ends with writes.Done.
func (s *Store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.writes.Add(1)
	}
	return !s.closed
}

func (s *Store) put(ctx context.Context, key Key, e Encoded, final bool, received time.Time) error {
	stored, err := s.known(ctx, key)
	if err != nil {
		return err
	}
	o := newObject(key)
	o.Checkpoint = statev1alpha1.Checkpoint{
		Shard: int32(key.Shard), Pod: key.Pod, Boot: e.Boot, Sequence: int64(e.Sequence), Final: final,
		Time: metav1.NewTime(received), Dropped: e.Dropped, Snapshot: e.Gzip,
	}
	switch {
	case stored == nil:
		err = s.client.Create(ctx, o)
	case replaces(&o.Checkpoint, &stored.Checkpoint):
		o.UID, o.ResourceVersion = stored.UID, stored.ResourceVersion
		err = s.client.Update(ctx, o)
	default:
		return nil
	}
	if err != nil {
		s.forget(key) // the next attempt reads what is stored
		return err
	}
	s.remember(key, o)
	return nil
}

// replaces returns true if n has later counts of the same process than o, makes them final, or lacks fewer of their
// parts.
func replaces(n, o *statev1alpha1.Checkpoint) bool {
	return !o.Final && n.Boot == o.Boot && (n.Sequence > o.Sequence ||
		n.Sequence == o.Sequence && (n.Final || len(n.Dropped) < len(o.Dropped)))
}

// known returns the stored object without its content; nil: it does not exist. It asks the API server only once for
// each object, because this process then knows the version from its own writes.
func (s *Store) known(ctx context.Context, key Key) (*statev1alpha1.LoadTestCheckpoint, error) {
	s.mu.Lock()
	o := s.written[key.Name()]
	s.mu.Unlock()
	if o != nil {
		return o, nil
	}
	o, err := s.read(ctx, key)
	if o == nil || err != nil {
		return nil, err
	}
	if !isOf(o, key) {
		return nil, apierrors.NewBadRequest("LoadTestCheckpoint " + o.Name + " belongs to another runner; delete it")
	}
	s.remember(key, o)
	return o, nil
}

// read returns the object with the name of key; nil: it does not exist. It can be that of another runner.
func (s *Store) read(ctx context.Context, key Key) (*statev1alpha1.LoadTestCheckpoint, error) {
	o := &statev1alpha1.LoadTestCheckpoint{}
	err := s.reader.Get(ctx, types.NamespacedName{Namespace: key.LoadTest.Namespace, Name: key.Name()}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// isOf returns whether o is the checkpoint of key and not that of another runner.
func isOf(o *statev1alpha1.LoadTestCheckpoint, key Key) bool {
	return o.Checkpoint.Pod == key.Pod && o.Checkpoint.Shard == int32(key.Shard) && slices.ContainsFunc(o.OwnerReferences,
		func(r metav1.OwnerReference) bool { return r.UID == key.Run })
}

// Get returns what is stored of a runner; nil: nothing is. The API server is asked each time. The object of another
// runner is damage, because it stays until a user deletes it, and the run must not wait for that.
func (s *Store) Get(ctx context.Context, key Key) (*Checkpoint, error) {
	o, err := s.read(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint of shard %d: %w", key.Shard, err)
	}
	if o == nil {
		return nil, nil
	}
	snapshot, err := contentOf(o, key)
	if err != nil {
		return &Checkpoint{Damage: fmt.Sprintf("LoadTestCheckpoint %s: %v", o.Name, err)}, nil
	}
	return &Checkpoint{
		Snapshot: snapshot, Final: o.Checkpoint.Final, Time: o.Checkpoint.Time.Time, Dropped: o.Checkpoint.Dropped,
	}, nil
}

// contentOf returns the snapshot in the object with the name of key.
func contentOf(o *statev1alpha1.LoadTestCheckpoint, key Key) (*runnerv1alpha1.Snapshot, error) {
	if !isOf(o, key) {
		return nil, errors.New("it belongs to another runner")
	}
	snapshot, err := Decode(o.Checkpoint.Snapshot)
	if err == nil && snapshot.Shard != key.Shard {
		err = fmt.Errorf("its snapshot is of shard %d, not of shard %d", snapshot.Shard, key.Shard)
	}
	return snapshot, err
}

// DeleteAll deletes the checkpoints of a run. Call it when the report is stored.
func (s *Store) DeleteAll(ctx context.Context, loadTest types.NamespacedName, run types.UID) error {
	s.mu.Lock()
	s.closed = true
	clear(s.written)
	s.mu.Unlock()
	s.writes.Wait() // one must not create an object again
	err := s.client.DeleteAllOf(ctx, &statev1alpha1.LoadTestCheckpoint{}, client.InNamespace(loadTest.Namespace),
		client.MatchingLabels{LabelRun: string(run)})
	if err != nil {
		return fmt.Errorf("deleting the checkpoints of the run: %w", err)
	}
	return nil
}

// remember keeps what the next Put needs of o.
func (s *Store) remember(key Key, o *statev1alpha1.LoadTestCheckpoint) {
	small := &statev1alpha1.LoadTestCheckpoint{
		ObjectMeta: metav1.ObjectMeta{UID: o.UID, ResourceVersion: o.ResourceVersion},
		Checkpoint: statev1alpha1.Checkpoint{Boot: o.Checkpoint.Boot, Sequence: o.Checkpoint.Sequence,
			Final: o.Checkpoint.Final, Dropped: o.Checkpoint.Dropped},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[key.Name()] = small
}

func (s *Store) forget(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, key.Name())
}

// newObject returns the object of a runner without its content. The LoadTest owns it, so that the garbage collector
// deletes it with the LoadTest.
func newObject(key Key) *statev1alpha1.LoadTestCheckpoint {
	return &statev1alpha1.LoadTestCheckpoint{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.LoadTest.Namespace,
		Name:      key.Name(),
		Labels: map[string]string{
			desired.LabelName: desired.Application, desired.LabelManagedBy: desired.Application,
			desired.LabelComponent: "checkpoint", desired.LabelLoadTest: key.LoadTest.Name, LabelRun: string(key.Run),
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTest", Name: key.LoadTest.Name, UID: key.Run,
			Controller: ptr.To(true),
		}},
	}}
}
