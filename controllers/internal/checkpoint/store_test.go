package checkpoint

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// server is an API server that counts requests and can refuse writes.
type server struct {
	client.Client
	gets, creates, updates int
	mu                     sync.Mutex
	refusal                error  // guarded by mu; the answer to each write; nil: it succeeds
	refuses                string // guarded by mu; the LoadTest of the writes with that answer; empty: all
}

// refuse makes err the answer to each write; nil: writes succeed.
func (s *server) refuse(err error) { s.refuseOf("", err) }

func (s *server) refuseOf(loadTest string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses, s.refusal = loadTest, err
}

func (s *server) refused(o client.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses != "" && s.refuses != o.GetLabels()[desired.LabelLoadTest] {
		return nil
	}
	return s.refusal
}

func newServer(t *testing.T) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := statev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s.gets++
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			s.creates++
			if err := s.refused(o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			s.updates++
			if err := s.refused(o); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
	})
	return s
}

func (s *server) store() *Store { return NewStore(s, s) }

var (
	at  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	key = Key{
		LoadTest: types.NamespacedName{Namespace: "shop", Name: "orders"}, Run: "3f2a9c1e-aaaa-bbbb", Shard: 3,
		Pod: "77be01d4-cccc-dddd",
	}
)

func encoded(t *testing.T, boot string, sequence uint64) Encoded {
	t.Helper()
	e, err := Encode(&runnerv1alpha1.Snapshot{Shard: 3, Boot: boot, Sequence: sequence}, MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestName(t *testing.T) {
	if got, want := key.Name(), "orders-3f2a9c1e-3-77be01d4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPut writes snapshots one after another, each by a store that knows the earlier writes and by a new one.
func TestPut(t *testing.T) {
	type put struct {
		boot     string
		sequence uint64
		final    bool
	}
	tests := map[string]struct {
		puts []put
		want put
	}{
		"the first":                       {[]put{{"a", 1, false}}, put{"a", 1, false}},
		"a later one":                     {[]put{{"a", 1, false}, {"a", 5, false}}, put{"a", 5, false}},
		"an earlier one":                  {[]put{{"a", 5, false}, {"a", 4, false}}, put{"a", 5, false}},
		"the same is final":               {[]put{{"a", 5, false}, {"a", 5, true}}, put{"a", 5, true}},
		"a later one after the final one": {[]put{{"a", 5, true}, {"a", 6, false}}, put{"a", 5, true}},
		"another process":                 {[]put{{"a", 5, false}, {"b", 6, false}}, put{"a", 5, false}},
	}
	for name, tt := range tests {
		for _, fresh := range []bool{false, true} {
			s := newServer(t)
			store := s.store()
			for i, p := range tt.puts {
				if fresh {
					store = s.store()
				}
				if err := store.Put(t.Context(), key, encoded(t, p.boot, p.sequence), p.final, at.Add(time.Duration(i)*time.Second)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			got, err := s.store().Get(t.Context(), key)
			if err != nil || got == nil {
				t.Fatalf("%s: %v, %v", name, got, err)
			}
			if stored := (put{got.Snapshot.Boot, got.Snapshot.Sequence, got.Final}); stored != tt.want {
				t.Errorf("%s (new store: %t): stored %+v, want %+v", name, fresh, stored, tt.want)
			}
		}
	}
}

// TestPutReadsOnce: this process knows the version of what it wrote.
func TestPutReadsOnce(t *testing.T) {
	s := newServer(t)
	store := s.store()
	for i := range uint64(10) {
		if err := store.Put(t.Context(), key, encoded(t, "a", i+1), false, at); err != nil {
			t.Fatal(err)
		}
	}
	if s.gets != 1 || s.creates != 1 || s.updates != 9 {
		t.Errorf("%d gets, %d creates, %d updates; want 1, 1, 9", s.gets, s.creates, s.updates)
	}
}

// TestPutOfTwoOperators: the one that does not know of the other's write reads it and continues from there.
func TestPutOfTwoOperators(t *testing.T) {
	s := newServer(t)
	before, after := s.store(), s.store()
	for i, store := range []*Store{before, after, before, after, after} {
		if err := store.Put(t.Context(), key, encoded(t, "a", uint64(i+1)), false, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.Put(t.Context(), key, encoded(t, "a", 3), false, at); err != nil {
		t.Fatal(err)
	}
	if got, err := after.Get(t.Context(), key); err != nil || got.Snapshot.Sequence != 5 {
		t.Errorf("stored %+v, %v; want sequence 5", got, err)
	}
}

func TestPutRefused(t *testing.T) {
	s := newServer(t)
	store := s.store()
	s.refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "loadtestcheckpoints"}, "x", errors.New("exceeded quota")))
	err := store.Put(t.Context(), key, encoded(t, "a", 1), false, at)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("error %v, want the text of the API server", err)
	}
	if s.creates != 1 {
		t.Errorf("%d attempts, want 1", s.creates)
	}
	s.refuse(nil)
	if err := store.Put(t.Context(), key, encoded(t, "a", 2), false, at); err != nil {
		t.Error(err)
	}
}

func TestGet(t *testing.T) {
	s := newServer(t)
	store := s.store()
	if got, err := store.Get(t.Context(), key); got != nil || err != nil {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	e := encoded(t, "a", 4)
	e.Dropped = []string{"histograms"}
	if err := store.Put(t.Context(), key, e, true, at); err != nil {
		t.Fatal(err)
	}
	want := &Checkpoint{Snapshot: &runnerv1alpha1.Snapshot{Shard: 3, Boot: "a", Sequence: 4}, Final: true, Time: at, Dropped: e.Dropped}
	got, err := store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	got.Time = got.Time.UTC()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestForeignObject: others can write objects of any name, and first groups of UIDs can be equal.
func TestForeignObject(t *testing.T) {
	for name, change := range map[string]func(*statev1alpha1.LoadTestCheckpoint){
		"another pod":      func(o *statev1alpha1.LoadTestCheckpoint) { o.Checkpoint.Pod = "77be01d4-eeee" },
		"another shard":    func(o *statev1alpha1.LoadTestCheckpoint) { o.Checkpoint.Shard = 4 },
		"another LoadTest": func(o *statev1alpha1.LoadTestCheckpoint) { o.OwnerReferences[0].UID = "3f2a9c1e-ffff" },
		"no gzip":          func(o *statev1alpha1.LoadTestCheckpoint) { o.Checkpoint.Snapshot = []byte("?") },
		"a snapshot of another shard": func(o *statev1alpha1.LoadTestCheckpoint) {
			o.Checkpoint.Snapshot = zip(t, `{"shard":5}`)
		},
	} {
		s := newServer(t)
		o := newObject(key)
		o.Checkpoint = statev1alpha1.Checkpoint{Shard: 3, Pod: key.Pod, Snapshot: encoded(t, "a", 1).Gzip}
		change(o)
		if err := s.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if got, err := s.store().Get(t.Context(), key); err != nil || !strings.Contains(got.Damage, o.Name) || got.Snapshot != nil {
			t.Errorf("%s: read as %+v, %v; want what is damaged, because an error would keep the run from its end", name, got, err)
		}
	}
}

// TestDeleteAll leaves the checkpoints of another LoadTest of the same name.
func TestDeleteAll(t *testing.T) {
	s := newServer(t)
	store := s.store()
	second, former := key, key
	second.Shard, former.Run = 4, "99999999-aaaa"
	for k, of := range map[Key]*Store{key: store, second: store, former: s.store()} {
		e := encoded(t, "a", 1)
		if err := of.Put(t.Context(), k, e, false, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.DeleteAll(t.Context(), key.LoadTest, key.Run); err != nil {
		t.Fatal(err)
	}
	var list statev1alpha1.LoadTestCheckpointList
	if err := s.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Labels[LabelRun] != string(former.Run) {
		t.Errorf("%d left, want that of %s", len(list.Items), former.Run)
	}
	if err := store.Put(t.Context(), key, encoded(t, "b", 1), false, at); err != nil {
		t.Errorf("storing after the deletion: %v", err)
	}
}

// TestNothingAfterDeleteAll: a write in flight, or one that begins later, leaves no object behind.
func TestNothingAfterDeleteAll(t *testing.T) {
	s := newServer(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := interceptor.NewClient(s.Client.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			close(begun)
			<-goOn
			return c.Create(ctx, o, opts...)
		},
	})
	store := NewStore(slow, slow)
	put, deleted := make(chan error, 1), make(chan error, 1)
	go func() { put <- store.Put(t.Context(), key, encoded(t, "a", 1), false, at) }()
	<-begun
	go func() { deleted <- store.DeleteAll(t.Context(), key.LoadTest, key.Run) }()
	select {
	case <-deleted:
		t.Error("DeleteAll did not wait for the write")
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	if err := errors.Join(<-put, <-deleted, store.Put(t.Context(), key, encoded(t, "a", 2), false, at)); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get(t.Context(), key); got != nil || err != nil {
		t.Errorf("%+v (%v) is left", got, err)
	}
}
