package histogram

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestAddSince: the sum of the latest states of many histograms is the same as if each was decoded and merged.
func TestAddSince(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const runners = 5
	var sources [runners]H
	var last [runners]runnerv1alpha1.Histogram
	var total, interval H
	var add Adder
	for range 200 {
		i := random.IntN(runners)
		before, err := Decode(last[i])
		if err != nil {
			t.Fatal(err)
		}
		for range random.IntN(50) {
			v := logNormal(random)
			if random.IntN(100) == 0 {
				v = Highest + int64(random.IntN(1000))
			}
			sources[i].Record(v)
		}
		now := sources[i].Encode()
		interval.Reset()
		if err := add.AddSince(now, last[i], &total, &interval); err != nil {
			t.Fatal(err)
		}
		last[i] = now
		want := New()
		for k := range sources {
			want.Merge(&sources[k])
		}
		if diff := cmp.Diff(want.Encode(), total.Encode()); diff != "" {
			t.Fatalf("total (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(sources[i].Since(before).Encode(), interval.Encode()); diff != "" {
			t.Fatalf("interval (-want +got):\n%s", diff)
		}
	}
}

func TestAddSinceRefuses(t *testing.T) {
	more, other := record(1, 5, 70_000).Encode(), record(1, 6, 70_000).Encode()
	broken := more
	broken.Count++
	for name, pair := range map[string][2]runnerv1alpha1.Histogram{
		"an earlier state":  {record(1, 5).Encode(), more},
		"another histogram": {other, more},
		"a broken now":      {broken, {}},
		"a broken base":     {more, broken},
		"a smaller sum":     {func() runnerv1alpha1.Histogram { h := more; h.Sum--; return h }(), more},
	} {
		total := record(3)
		before := total.Encode()
		err := new(Adder).AddSince(pair[0], pair[1], total, total)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(before, total.Encode()); diff != "" {
			t.Errorf("%s changed the sum (-want +got):\n%s", name, diff)
		}
	}
	if err := new(Adder).AddSince(record(1, 5).Encode(), more, nil, nil); !errors.Is(err, ErrNotLater) {
		t.Errorf("error %v, want ErrNotLater", err)
	}
}

func BenchmarkAddSince(b *testing.B) {
	values := benchValues()
	base, now := record(values[:2048]...).Encode(), record(values...).Encode()
	var total H
	var add Adder
	b.ReportAllocs()
	for b.Loop() {
		if err := add.AddSince(now, base, &total, nil); err != nil {
			b.Fatal(err)
		}
	}
}
