package checkpoint

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// spread returns a histogram of n different values, whose counts do not compress well.
func spread(seed uint64, n int) runnerv1alpha1.Histogram {
	rng := rand.New(rand.NewPCG(seed, 1))
	h := histogram.New()
	for range n {
		h.Record(1 + rng.Int64N(50_000_000))
	}
	return h.Encode()
}

func snapshotOf(steps int) *runnerv1alpha1.Snapshot {
	s := &runnerv1alpha1.Snapshot{
		APIVersion: runnerv1alpha1.APIVersion, Kind: runnerv1alpha1.SnapshotKind, Shard: 3, Boot: "b", Sequence: 7,
		Counters: runnerv1alpha1.Counters{Requests: runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 1000,
			Done: 900, Succeeded: 900, InFlightAtEnd: 100}}},
		Globals: []string{"secret-token"}, ResponseTime: spread(1, 3000), Lag: spread(2, 3000), ServiceTime: spread(3, 3000),
		Samples: []runnerv1alpha1.Sample{{}},
	}
	for i := range steps {
		s.Steps = append(s.Steps, runnerv1alpha1.StepCounters{Outcomes: runnerv1alpha1.Outcomes{Sent: int64(i),
			Done: int64(i), Succeeded: int64(i)}, ResponseTime: spread(uint64(i), 300), TimeToFirstByte: spread(uint64(i), 30)})
		s.Targets = append(s.Targets, runnerv1alpha1.TargetTimes{Body: spread(uint64(i), 30)})
	}
	s.Selections = []runnerv1alpha1.SelectionCounters{{SelectionCounts: runnerv1alpha1.SelectionCounts{Sent: 5},
		Time: spread(5, 30)}}
	s.StageSelections = []runnerv1alpha1.SelectionCounters{{SelectionCounts: runnerv1alpha1.SelectionCounts{Sent: 4},
		Time: spread(4, 30)}}
	s.Listeners = []runnerv1alpha1.ListenerCounters{{ListenerCounts: runnerv1alpha1.ListenerCounts{Received: 30,
		InTime: 30}, Time: spread(6, 30)}}
	return s
}

// TestEncodeListeners: the times of as many listeners as a test can have do not keep its counters from being stored.
func TestEncodeListeners(t *testing.T) {
	in := snapshotOf(256)
	in.Listeners = nil
	for i := range 8 {
		in.Listeners = append(in.Listeners, runnerv1alpha1.ListenerCounters{
			ListenerCounts: runnerv1alpha1.ListenerCounts{Received: int64(i), InTime: int64(i)}, Time: spread(uint64(i),
				400_000),
		})
	}
	got, err := Encode(in, MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(got.Gzip)
	if err != nil {
		t.Fatal(err)
	}
	for i := range back.Listeners {
		if l := &back.Listeners[i]; l.InTime != int64(i) || l.Time.Count != 0 {
			t.Errorf("listener %d: %d in time, %d times; want %d, 0", i, l.InTime, l.Time.Count, i)
		}
	}
	if len(back.Listeners) != 8 || !slices.Contains(got.Dropped, "listeners.time") {
		t.Errorf("%d listeners, without %q", len(back.Listeners), got.Dropped)
	}
}

func TestEncode(t *testing.T) {
	tests := map[string]struct {
		steps, limit int
		want         []string
		fails        string
	}{
		"all fits":                       {steps: 2, limit: MaxBytes},
		"phases of 110 steps do not fit": {steps: 110, limit: MaxBytes, want: []string{"samples", "phases"}},
		"histograms of 256 steps do not fit": {steps: 256, limit: MaxBytes, want: []string{"samples", "phases",
			"steps.responseTime"}},
		"only the response time of all steps": {steps: 256, limit: 6000, want: []string{"samples", "phases",
			"steps.responseTime", "stageSelections", "selections", "histograms"}},
		"counters only": {steps: 256, limit: 3000, want: []string{"samples", "phases",
			"steps.responseTime", "stageSelections", "selections", "histograms", "listeners.time", "observations",
			"responseTime"}},
		"counters that are larger than allowed": {steps: 256, limit: 500, fails: "the counters of shard 3 have"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := snapshotOf(tt.steps)
			before, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Encode(in, tt.limit)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v, want one with %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if after, _ := json.Marshal(in); !bytes.Equal(before, after) {
				t.Error("Encode changed its argument")
			}
			if len(got.Gzip) > tt.limit || !slices.Equal(got.Dropped, tt.want) {
				t.Errorf("%d bytes without %q, want at most %d without %q", len(got.Gzip), got.Dropped, tt.limit, tt.want)
			}
			if got.Boot != "b" || got.Sequence != 7 {
				t.Errorf("identified as boot %q, sequence %d", got.Boot, got.Sequence)
			}
			back, err := Decode(got.Gzip)
			if err != nil {
				t.Fatal(err)
			}
			want := *in
			want.Globals = nil
			for _, p := range parts {
				if slices.Contains(tt.want, p.name) {
					p.remove(&want)
				}
			}
			if diff := cmp.Diff(&want, back); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEncodeWithoutStepTimes: a live snapshot can come without them, and the checkpoint says so.
func TestEncodeWithoutStepTimes(t *testing.T) {
	s := snapshotOf(2)
	for i := range s.Steps {
		for _, h := range s.Steps[i].Distributions() {
			*h = runnerv1alpha1.Histogram{}
		}
	}
	s.Targets = nil
	e, err := Encode(s, MaxBytes)
	if err != nil || !slices.Equal(e.Dropped, []string{"phases", "steps.responseTime"}) {
		t.Errorf("dropped %q, %v; want phases and steps.responseTime", e.Dropped, err)
	}
}

// TestGlobalsAreNotStored: they can be secret.
func TestGlobalsAreNotStored(t *testing.T) {
	e, err := Encode(snapshotOf(1), MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(e.Gzip))
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(raw.String(), "secret-token") {
		t.Error("the stored snapshot has the values of Globals")
	}
}

func zip(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for _, p := range parts {
		if _, err := w.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDecodeRefuses(t *testing.T) {
	for name, gz := range map[string][]byte{
		"nothing":              nil,
		"no gzip":              []byte("{}"),
		"no JSON":              zip(t, "{"),
		"a cut stream":         zip(t, `{"shard":1}`)[:15],
		"too many bytes":       zip(t, `{"boot":"`, strings.Repeat("a", maxDecoded), `"}`),
		"too many elements":    zip(t, `{"steps":[{}`, strings.Repeat(",{}", maxElements+1), `]}`),
		"another kind of list": zip(t, `{"steps":{}}`),
	} {
		if s, err := Decode(gz); err == nil {
			t.Errorf("%s: decoded as %+v, want an error", name, s)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, steps := range []int{0, 1, 3} {
		e, err := Encode(snapshotOf(steps), MaxBytes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Gzip)
	}
	f.Add(zip(f, `{"steps":[{},{}],"globals":["x"]}`))
	f.Fuzz(func(t *testing.T, gz []byte) {
		s, err := Decode(gz)
		if err != nil {
			return
		}
		if s.Globals != nil {
			t.Error("decoded Globals")
		}
		if _, err := Encode(s, 10<<20); err != nil {
			t.Errorf("a decoded snapshot cannot be encoded: %v", err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	s := snapshotOf(256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(s, MaxBytes); err != nil {
			b.Fatal(err)
		}
	}
}
