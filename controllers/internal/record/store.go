package record

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// Rights on records.
//   - get: an operator that starts reads the record of each run once.
//   - create, update: a decision is stored before the operator acts on it.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtestruns,verbs=get;create;update

// Store reads and writes records. Its methods are safe for concurrent use, but only one goroutine at a time may use the
// record of one LoadTest.
type Store struct {
	reader client.Reader // not the cache
	client client.Client

	mu     sync.Mutex
	cached map[types.UID]*cached // by LoadTest; guarded by mu
}

// cached is the last version that was read or written.
type cached struct {
	resourceVersion string
	record          *Record
}

// NewStore returns a Store. reader reads from the API server.
func NewStore(reader client.Reader, c client.Client) *Store {
	return &Store{reader: reader, client: c, cached: map[types.UID]*cached{}}
}

// Load returns the record of a LoadTest; nil: there is none. The caller must not change it.
func (s *Store) Load(ctx context.Context, lt *v1alpha1.LoadTest) (*Record, error) {
	if h := s.known(lt.UID); h != nil {
		return h.record, nil
	}
	h, err := read(ctx, s.reader, lt)
	if h == nil || err != nil {
		return nil, err
	}
	s.keep(lt.UID, h)
	return h.record, nil
}

// Read returns the record of a LoadTest as the API server has it; nil: there is none.
func Read(ctx context.Context, reader client.Reader, lt *v1alpha1.LoadTest) (*Record, error) {
	h, err := read(ctx, reader, lt)
	if h == nil || err != nil {
		return nil, err
	}
	return h.record, nil
}

func read(ctx context.Context, reader client.Reader, lt *v1alpha1.LoadTest) (*cached, error) {
	run := &v1alpha1.LoadTestRun{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: lt.Namespace, Name: desired.RunName(lt)}, run)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the run record: %w", err)
	}
	if !metav1.IsControlledBy(run, lt) {
		return nil, fmt.Errorf("LoadTestRun %s has another owner; delete it", run.Name)
	}
	out, err := decode(run)
	return &cached{run.ResourceVersion, out}, err
}

// Save changes the record of a LoadTest: it applies f to a copy, which is empty if there is no record yet, and writes the
// copy, unless f changed nothing. It returns the new record. An error means that nothing changed as far as the Store knows, and
// the next Load reads the record from the API server.
func (s *Store) Save(ctx context.Context, lt *v1alpha1.LoadTest, f func(*Record) error) (*Record, error) {
	h := s.known(lt.UID)
	next := &Record{Version: Version}
	if h != nil {
		next = h.record.clone()
	}
	if err := f(next); err != nil {
		return nil, err
	}
	if h != nil && reflect.DeepEqual(next, h.record) {
		return h.record, nil
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("encoding the run record: %w", err)
	}
	run := desired.Run(lt)
	run.Record = runtime.RawExtension{Raw: raw}
	if h == nil {
		err = s.client.Create(ctx, run)
	} else {
		run.ResourceVersion = h.resourceVersion
		err = s.client.Update(ctx, run)
	}
	if err != nil {
		s.Forget(lt.UID)
		return nil, fmt.Errorf("writing the run record: %w", err)
	}
	// As the next operator reads it: times have microseconds.
	stored := &Record{}
	if err := json.Unmarshal(raw, stored); err != nil {
		return nil, fmt.Errorf("reading the run record back: %w", err)
	}
	s.keep(lt.UID, &cached{run.ResourceVersion, stored})
	return stored, nil
}

// Forget makes the next Load read the record from the API server.
func (s *Store) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cached, uid)
}

func (s *Store) known(uid types.UID) *cached {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cached[uid]
}

func (s *Store) keep(uid types.UID, h *cached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cached[uid] = h
}

// decode reads a record and refuses one that this operator cannot read.
func decode(run *v1alpha1.LoadTestRun) (*Record, error) {
	out := &Record{}
	if err := json.Unmarshal(run.Record.Raw, out); err != nil {
		return nil, fmt.Errorf("LoadTestRun %s: %w", run.Name, err)
	}
	if out.Version != Version {
		return nil, fmt.Errorf("LoadTestRun %s has version %d; this operator reads version %d", run.Name, out.Version, Version)
	}
	if out.Plan.Digest == "" { // a version before the digest, whose hash was that of all of the plan
		out.Plan.Digest = out.Plan.Hash
	}
	if err := out.State.Validate(); err != nil {
		return nil, fmt.Errorf("LoadTestRun %s: %w", run.Name, err)
	}
	return out, nil
}
