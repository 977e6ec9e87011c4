package integration

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/test/builder"
)

// maxBatchBytes keeps a document below the 3 MiB that the API server accepts.
const maxBatchBytes = 1 << 20

// batch is a document that is wrong in several places. No place is inside another, so each error belongs to one row.
type batch struct {
	rows    []builder.Mutant
	unknown bool // the API server reports unknown fields before it validates
	bytes   int
}

// blamedTogether sends rows in as few documents as possible and returns the names of those whose path the API server blames.
func blamedTogether(t *testing.T, c client.Client, rows []builder.Mutant) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, b := range batches(t, rows) {
		got := byServer(t, c, b.document())
		for _, row := range b.rows {
			if blames(got, row.Path) {
				out[row.Name] = true
			}
		}
	}
	return out
}

// batches distributes rows: each goes to the first batch that has capacity for it.
func batches(t *testing.T, rows []builder.Mutant) []*batch {
	t.Helper()
	var out []*batch
	for _, row := range rows {
		raw, err := json.Marshal(row.Set)
		if err != nil {
			t.Fatal(err)
		}
		unknown := strings.HasSuffix(row.Name, " unknown")
		i := slices.IndexFunc(out, func(b *batch) bool {
			return b.unknown == unknown && b.bytes+len(raw) <= maxBatchBytes && !slices.ContainsFunc(b.rows, func(r builder.Mutant) bool { return overlap(r, row) })
		})
		if i < 0 {
			i = len(out)
			out = append(out, &batch{unknown: unknown})
		}
		out[i].rows = append(out[i].rows, row)
		out[i].bytes += len(raw)
	}
	return out
}

// document is full.yaml with the changes of all rows.
func (b *batch) document() map[string]any {
	all := builder.Mutant{Set: map[string]any{}}
	for _, row := range b.rows {
		maps.Copy(all.Set, row.Set)
		all.Unset = append(all.Unset, row.Unset...)
	}
	return all.Document()
}

// overlap is true if a row changes a place that another changes, or a place inside it.
func overlap(a, b builder.Mutant) bool {
	for _, x := range places(a) {
		for _, y := range places(b) {
			if inside(x, y) || inside(y, x) {
				return true
			}
		}
	}
	return false
}

func places(row builder.Mutant) []string {
	return slices.AppendSeq(slices.Clone(row.Unset), maps.Keys(row.Set))
}

// inside is true if path is outer or a place in it.
func inside(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func TestOverlap(t *testing.T) {
	set := func(path string) builder.Mutant { return builder.Mutant{Set: map[string]any{path: 1}} }
	unset := func(path string) builder.Mutant { return builder.Mutant{Unset: []string{path}} }
	for _, tc := range []struct {
		name string
		a, b builder.Mutant
		want bool
	}{
		{"same place", set("spec.a"), unset("spec.a"), true},
		{"field inside", set("spec.a.b"), set("spec.a"), true},
		{"item inside", unset("spec.a"), set("spec.a[0].b"), true},
		{"siblings", set("spec.a.b"), unset("spec.a.c"), false},
		{"a name that begins like the other", set("spec.a"), set("spec.ab"), false},
		{"items", set("spec.a[1]"), set("spec.a[10]"), false},
	} {
		if got := overlap(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestBatchBlamesOnlyWhatIsWrong: a row that is valid is not blamed for the errors of others.
func TestBatchBlamesOnlyWhatIsWrong(t *testing.T) {
	rows := []builder.Mutant{
		{Name: "wrong", Path: "spec.seed", Set: map[string]any{"spec.seed": "text"}},
		{Name: "valid", Path: "spec.gracefulStop", Set: map[string]any{"spec.gracefulStop": "2s"}},
		{Name: "valid unknown", Path: "spec.lock", Set: map[string]any{"spec.lock": "other"}},
		{Name: "wrong unknown", Path: "spec.nonsense", Set: map[string]any{"spec.nonsense": 1}},
	}
	want := map[string]bool{"wrong": true, "wrong unknown": true}
	if diff := cmp.Diff(want, blamedTogether(t, newClient(t), rows)); diff != "" {
		t.Error(diff)
	}
}
