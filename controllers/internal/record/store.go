package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// Rights on records.
//   - get: an operator that starts reads the record of each run once.
//   - create, update: a decision is stored before the operator acts on it.
//
// +kubebuilder:rbac:groups=internal.h2surge.io,resources=loadtestruns,verbs=get;create;update

// Store reads and writes the record of one LoadTest. It keeps the version that it read or wrote last. Only one
// goroutine at a time may use it.
type Store struct {
	reader  client.Reader // not the cache
	client  client.Client
	record  *Record // nil: the API server has to be asked
	version string  // the resource version of record
}

// NewStore returns a Store that knows nothing yet. reader reads from the API server.
func NewStore(reader client.Reader, c client.Client) *Store { return &Store{reader: reader, client: c} }

// Load returns the record of the LoadTest; nil: there is none. The caller must not change it.
func (s *Store) Load(ctx context.Context, lt *v1alpha1.LoadTest) (_ *Record, err error) {
	if s.record == nil {
		s.record, s.version, err = read(ctx, s.reader, lt)
	}
	return s.record, err
}

// Read returns the record of a LoadTest as the API server has it; nil: there is none.
func Read(ctx context.Context, reader client.Reader, lt *v1alpha1.LoadTest) (*Record, error) {
	out, _, err := read(ctx, reader, lt)
	return out, err
}

func read(ctx context.Context, reader client.Reader, lt *v1alpha1.LoadTest) (_ *Record, version string, err error) {
	run := &statev1alpha1.LoadTestRun{}
	err = reader.Get(ctx, client.ObjectKey{Namespace: lt.Namespace, Name: desired.RunName(lt)}, run)
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the run record: %w", err)
	}
	if !metav1.IsControlledBy(run, lt) {
		return nil, "", fmt.Errorf("LoadTestRun %s has another owner; delete it", run.Name)
	}
	out, err := decode(run)
	return out, run.ResourceVersion, err
}

// Save changes the record of the LoadTest: it applies f to a copy, which is empty if there is no record yet, and writes
// the copy, unless f changed nothing. It returns the new record. An error means that nothing changed as far as the
// Store knows, and the next Load reads the record from the API server if that returned the error.
func (s *Store) Save(ctx context.Context, lt *v1alpha1.LoadTest, f func(*Record) error) (*Record, error) {
	next := &Record{Version: Version}
	if s.record != nil {
		next = s.record.clone()
	}
	if err := f(next); err != nil {
		return nil, err
	}
	if s.record != nil && reflect.DeepEqual(next, s.record) {
		return s.record, nil
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("encoding the run record: %w", err)
	}
	run := desired.Run(lt)
	run.Record = runtime.RawExtension{Raw: raw}
	if s.record == nil {
		err = s.client.Create(ctx, run)
	} else {
		run.ResourceVersion = s.version
		err = s.client.Update(ctx, run)
	}
	if err != nil {
		s.record = nil
		return nil, fmt.Errorf("writing the run record: %w", err)
	}
	// As the next operator reads it: times have microseconds.
	stored := &Record{}
	if err := json.Unmarshal(raw, stored); err != nil {
		return nil, fmt.Errorf("reading the run record back: %w", err)
	}
	s.record, s.version = stored, run.ResourceVersion
	return stored, nil
}

// Check returns a conflict if another operator changed the record of the LoadTest. The next Load reads it from the API
// server then.
func (s *Store) Check(ctx context.Context, lt *v1alpha1.LoadTest) error {
	_, version, err := read(ctx, s.reader, lt)
	if err == nil && version != s.version {
		s.record = nil
		err = apierrors.NewConflict(statev1alpha1.GroupVersion.WithResource("loadtestruns").GroupResource(),
			desired.RunName(lt), errors.New("another operator changed it"))
	}
	return err
}

// decode reads a record and refuses one that this operator cannot read. It checks the version first, because fields of
// another version can have other types.
func decode(run *statev1alpha1.LoadTestRun) (*Record, error) {
	var of struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(run.Record.Raw, &of); err != nil {
		return nil, fmt.Errorf("LoadTestRun %s: %w", run.Name, err)
	}
	if of.Version != Version {
		return nil, fmt.Errorf("LoadTestRun %s has version %d; this operator reads version %d", run.Name, of.Version, Version)
	}
	out := &Record{}
	err := json.Unmarshal(run.Record.Raw, out)
	if err == nil {
		err = out.State.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("LoadTestRun %s: %w", run.Name, err)
	}
	return out, nil
}
