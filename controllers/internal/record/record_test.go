package record

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		set  Set
		text string
	}{
		{nil, ""},
		{Set{3}, "3"},
		{Set{0, 1, 2, 3}, "0-3"},
		{Set{0, 2, 3, 7}, "0,2-3,7"},
	} {
		text, err := c.set.MarshalText()
		if err != nil || string(text) != c.text {
			t.Errorf("%v: got %q, %v, want %q", c.set, text, err, c.text)
		}
		var back Set
		if err := back.UnmarshalText(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(c.set, back); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"3,1", "1,1", "5-2", "x", "1-", "-1", "0-99999999"} {
		if err := new(Set).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func loadTest() *v1alpha1.LoadTest {
	return &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "0123456789"}}
}

// refusing fails writes when it is told to.
type refusing struct {
	client.Client
	err error
}

func (r *refusing) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if r.err != nil {
		return r.err
	}
	return r.Client.Update(ctx, o, opts...)
}

func newFake(t *testing.T) *refusing {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := statev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &refusing{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
}

func prepare(r *Record) error {
	r.State, r.Attempt = Preparing, 1
	return nil
}

func begin(r *Record) error {
	r.Start = &Start{Time: metav1.NowMicro(), Job: "job"}
	r.Append(Change{Revision: 1, Members: Set{0, 1}, Rates: []Rate{{Count: 1000, Period: time.Second}}})
	return r.On(EventBegin)
}

func TestStore(t *testing.T) {
	ctx, c := context.Background(), newFake(t)
	s := NewStore(c, c)
	if got, err := s.Load(ctx, loadTest()); got != nil || err != nil {
		t.Fatalf("without an object: %v, %v", got, err)
	}
	if _, err := s.Save(ctx, loadTest(), prepare); err != nil {
		t.Fatal(err)
	}
	want, err := s.Save(ctx, loadTest(), begin)
	if err != nil {
		t.Fatal(err)
	}
	got, err := NewStore(c, c).Load(ctx, loadTest())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the next operator reads another record (-want +got):\n%s", diff)
	}
	if got.State != Running || len(got.Changes) != 1 {
		t.Errorf("state %s, %d changes", got.State, len(got.Changes))
	}
}

// TestOneDecision: of two operators that decide on the same version, one is refused.
func TestOneDecision(t *testing.T) {
	ctx, c := context.Background(), newFake(t)
	first, second := NewStore(c, c), NewStore(c, c)
	if _, err := first.Save(ctx, loadTest(), prepare); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Load(ctx, loadTest()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Save(ctx, loadTest(), begin); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Save(ctx, loadTest(), begin); !apierrors.IsConflict(err) {
		t.Errorf("the second decision: %v", err)
	}
	if got, err := second.Load(ctx, loadTest()); err != nil || got.State != Running {
		t.Errorf("after the conflict: %+v, %v", got, err)
	}
}

// TestRefusedWrite: a decision that was not stored is not known.
func TestRefusedWrite(t *testing.T) {
	ctx, c := context.Background(), newFake(t)
	s := NewStore(c, c)
	if _, err := s.Save(ctx, loadTest(), prepare); err != nil {
		t.Fatal(err)
	}
	c.err = errors.New("exceeded quota")
	if _, err := s.Save(ctx, loadTest(), begin); err == nil {
		t.Fatal("no error")
	}
	if got, err := s.Load(ctx, loadTest()); err != nil || got.State != Preparing || got.Start != nil {
		t.Errorf("after the refusal: %+v, %v", got, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ raw, want string }{
		"another version":                 {`{"version": 2, "state": "Running"}`, "LoadTestRun demo-run-01234567 has version 2; this operator reads version 1"},
		"another version, another schema": {`{"version": 2, "state": {"name": "Running"}}`, "LoadTestRun demo-run-01234567 has version 2; this operator reads version 1"},
		"no version":                      {`{"state": "Running"}`, "LoadTestRun demo-run-01234567 has version 0; this operator reads version 1"},
		"another type":                    {`{"version": 1, "state": {"name": "Running"}}`, "LoadTestRun demo-run-01234567: json: cannot unmarshal object"},
		"no state":                        {`{"version": 1, "state": "Walking"}`, `LoadTestRun demo-run-01234567: "Walking" is not a state`},
		"no number":                       {`{"version": "one"}`, "LoadTestRun demo-run-01234567: json: cannot unmarshal string"},
	} {
		ctx, c := context.Background(), newFake(t)
		run := desired.Run(loadTest())
		run.Record.Raw = []byte(tt.raw)
		if err := c.Create(ctx, run); err != nil {
			t.Fatal(err)
		}
		if got, err := NewStore(c, c).Load(ctx, loadTest()); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %+v, error %v; want %s", name, got, err, tt.want)
		}
	}
	ctx, c := context.Background(), newFake(t)
	foreign := desired.Run(loadTest())
	foreign.OwnerReferences = nil
	foreign.Record.Raw = []byte(`{"version": 1, "state": "Pending"}`)
	if err := c.Create(ctx, foreign); err != nil {
		t.Fatal(err)
	}
	if got, err := NewStore(c, c).Load(ctx, loadTest()); err == nil {
		t.Errorf("another owner: %+v", got)
	}
}

// TestChangesAreBounded: changes of members go first, and what slots are computed from stays.
func TestChangesAreBounded(t *testing.T) {
	r := &Record{Version: Version, State: Running}
	rates := func(n int64) []Rate { return []Rate{{Count: n, Period: time.Second}, {Count: 1, Period: time.Minute}} }
	r.Append(Change{Revision: 1, Members: Set{0, 1}, Rates: rates(100)})
	for i := range int64(2000) {
		c := Change{Revision: i + 2, At: i + 1, Members: Set{int(i % 2)}, Rates: rates(100), Applied: true}
		if i%100 == 99 {
			c.Suspended = true
		}
		r.Append(c)
	}
	if len(r.Changes) > MaxChanges {
		t.Errorf("%d changes", len(r.Changes))
	}
	suspended := 0
	for i := range r.Changes {
		if r.Changes[i].Suspended {
			suspended++
		}
		if i > 0 && r.Changes[i].Rates != nil {
			t.Errorf("change %d repeats the rates", r.Changes[i].Revision)
		}
	}
	if suspended != 20 || r.Newest().Revision != 2001 {
		t.Errorf("%d pauses, newest revision %d", suspended, r.Newest().Revision)
	}
	r.Append(Change{Revision: 2002, At: 2002, Members: Set{0}, Rates: rates(200)})
	updates := r.Updates([]runnerv1alpha1.Rate{{Duration: time.Hour}, {}})
	if got := updates[len(updates)-1].Rates; got[0].Count != 200 || got[0].Duration != time.Hour {
		t.Errorf("rates of the last update: %+v", got)
	}
	if got := updates[len(updates)-2].Rates; got[0].Count != 100 {
		t.Errorf("rates of the update before: %+v", got)
	}
	raw, err := json.Marshal(r)
	if err != nil || len(raw) > 200<<10 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

// TestRecordHasRoom: whatever a user changes and however many runners end, the record with its stop and its end can be stored.
func TestRecordHasRoom(t *testing.T) {
	const etcd = 1536 << 10
	for seed := range uint64(20) {
		r := fullRecord(rand.New(rand.NewPCG(seed, 1)))
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > etcd || !r.Full() {
			t.Errorf("seed %d: %d bytes, full %v; etcd takes %d", seed, len(raw), r.Full(), etcd)
		}
	}
}

// fullRecord is the record of a run of 2000 shards that was changed until no change is possible, and has ended.
func fullRecord(random *rand.Rand) *Record {
	stages := 1 + random.IntN(64)
	rates := func() (out []Rate) {
		for range stages {
			out = append(out, Rate{Count: random.Int64(), Period: time.Duration(random.Int64()), Ramp: true, RampFrom: random.Int64()})
		}
		return out
	}
	name := strings.Repeat("n", 63)
	r := &Record{Version: Version, Pods: map[int]Pod{}, Start: &Start{Live: Live{Rates: rates()}}}
	for i := range 2000 {
		r.Pods[i] = Pod{UID: types.UID(name[:36]), Name: name, Node: name, Address: "[2001:db8:1234:5678:9abc:def0:1234:5678]:8443"}
	}
	r.Append(Change{Revision: 1, Rates: rates()})
	for i := 0; i < 10_000 && !r.Full(); i++ {
		if random.IntN(2) == 0 {
			r.Append(Change{Revision: int64(i), At: random.Int64(), Members: Set{0, 2, 4, i + 5}, Rates: rates(), Suspended: random.IntN(2) == 0})
		} else {
			r.Shards = append(r.Shards, Shard{Index: i, Pod: types.UID(name[:36]), Name: name, Node: name, State: ShardDone, Counts: Counts{Name: name, Dropped: []string{name}}})
		}
	}
	r.Stop = &Stop{Reason: "spec.stop"}
	r.End = &End{Message: strings.Repeat("m", 32<<10)}
	for i := range 2000 {
		r.End.Runners = append(r.End.Runners, v1alpha1.RunnerStatus{Shard: int32(i), Pod: name, Node: name, State: "Done", Message: "no answer"})
	}
	return r
}

// TestThresholdIsStored: after a restart, a threshold that failed has the observation that it had, also if an earlier version stored it.
func TestThresholdIsStored(t *testing.T) {
	for stored, want := range map[string]verdict.Observation{
		`{"name":"fast","observed":"2s","after":3000000000,"above":1900000}`:          {Observed: "2s", After: 3 * time.Second, Above: 1_900_000},
		`{"name":"fast","observed":"\u003e 5s","after":3000000000,"unanswered":true}`: {Observed: "> 5s", After: 3 * time.Second, Unanswered: true},
		`{"name":"fast","observed":"5%","after":3000000000,"drops":7,"dropped":8}`:    {Observed: "5%", After: 3 * time.Second, Drops: 7, Dropped: 8},
		`{"name":"fast","observed":"2s","after":3000000000}`:                          {Observed: "2s", After: 3 * time.Second},
	} {
		encoded, err := json.Marshal(ThresholdOf("fast", want))
		if err != nil || string(encoded) != stored {
			t.Errorf("stored is %s, %v; want %s", encoded, err, stored)
		}
		r := Record{Thresholds: make([]Threshold, 1)}
		if err := json.Unmarshal([]byte(stored), &r.Thresholds[0]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Failed()["fast"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
