package split

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// plan has two targets, a chain without a bound, two with one, and variables of the given sizes; a
// size of zero is a variable without a sequence.
func plan(connections int, sizes ...int64) *runnerv1alpha1.Plan {
	p := &runnerv1alpha1.Plan{Targets: []runnerv1alpha1.Target{
		{Name: "a", Connections: connections},
		{Name: "b", Connections: 2*connections + 1},
	}}
	p.Chains = []runnerv1alpha1.Chain{{Name: "free"}, {Name: "tight", MaxInFlight: connections}, {Name: "loose", MaxInFlight: 5*connections + 3}}
	for _, size := range sizes {
		if size == 0 {
			p.Variables = append(p.Variables, runnerv1alpha1.Variable{UUID: true})
			continue
		}
		p.Variables = append(p.Variables, runnerv1alpha1.Variable{Range: &runnerv1alpha1.Range{End: size, Step: 1}})
	}
	return p
}

// owned fails unless the shares own every slot below horizon, every connection and every value
// exactly once. Variables with fewer values than sharedBelow may have several owners.
func owned(t *testing.T, p *runnerv1alpha1.Plan, shares []runnerv1alpha1.Share, horizon, sharedBelow int64) {
	t.Helper()
	slots := make([]int, horizon)
	for i := range shares {
		if s := shares[i].Slots; !Valid(s) {
			t.Fatalf("slots of owner %d are not valid: %v", i, s)
		}
		for j := int64(0); Nth(shares[i].Slots, j) < horizon; j++ {
			slots[Nth(shares[i].Slots, j)]++
		}
	}
	exactlyOnce(t, "slot", slots)
	for target := range p.Targets {
		connections := make([]int, max(p.Targets[target].Connections, len(shares)))
		for i := range shares {
			first := shares[i].FirstConnection[target]
			for c := range shares[i].Connections[target] {
				connections[first+c]++
			}
		}
		exactlyOnce(t, "connection", connections)
	}
	bounded(t, p, shares)
	for v := range p.Variables {
		if p.Variables[v].Size() == 0 {
			for i := range shares {
				if shares[i].Variables[v] != nil {
					t.Fatalf("owner %d has values of variable %d, which is not a sequence", i, v)
				}
			}
			continue
		}
		values := make([]int, p.Variables[v].Size())
		for i := range shares {
			for _, s := range shares[i].Variables[v] {
				for k := s.From; k < s.To; k++ {
					values[k]++
				}
			}
			if Values(shares[i].Variables[v]) == 0 {
				t.Fatalf("owner %d has no value of variable %d", i, v)
			}
		}
		if int64(len(values)) >= sharedBelow {
			exactlyOnce(t, fmt.Sprintf("value of variable %d", v), values)
		}
	}
}

// bounded fails unless the bounds of chains add up, none of them has become no bound, and exactly
// one share runs setup and teardown.
func bounded(t *testing.T, p *runnerv1alpha1.Plan, shares []runnerv1alpha1.Share) {
	t.Helper()
	for c := range p.Chains {
		sum := 0
		for i := range shares {
			n := shares[i].MaxInFlight[c]
			if (n == 0) != (p.Chains[c].MaxInFlight == 0) {
				t.Fatalf("owner %d has a bound of %d for chain %s, which has %d", i, n, p.Chains[c].Name, p.Chains[c].MaxInFlight)
			}
			sum += n
		}
		if sum != p.Chains[c].MaxInFlight {
			t.Fatalf("the bounds of chain %s add up to %d, want %d", p.Chains[c].Name, sum, p.Chains[c].MaxInFlight)
		}
	}
	once := 0
	for i := range shares {
		if shares[i].Once {
			once++
		}
	}
	if once != 1 {
		t.Fatalf("%d of %d owners run setup and teardown", once, len(shares))
	}
}

func exactlyOnce(t *testing.T, what string, owners []int) {
	t.Helper()
	for i, n := range owners {
		if n != 1 {
			t.Fatalf("%s %d has %d owners", what, i, n)
		}
	}
}

func TestEveryThingHasOneOwner(t *testing.T) {
	for shards := 1; shards <= 64; shards++ {
		p := plan(shards*8+1, 1000, int64(shards), 0, 64*8)
		shares, err := Split(p, shards)
		if err != nil {
			t.Fatal(err)
		}
		owned(t, p, shares, 512, int64(shards))
		if !shares[0].Once {
			t.Fatalf("%d shards: the first does not run setup", shards)
		}
		for workers := 1; workers <= 8; workers++ {
			var all []runnerv1alpha1.Share
			for i := range shares {
				all = append(all, Workers(&shares[i], workers)...)
			}
			owned(t, p, all, 2*int64(shards*workers)+3, int64(shards*workers))
		}
	}
}

func TestSplitIsEven(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 7, 64, 100, 255, 256} {
		p := plan(1000, 999)
		shares, err := Split(p, shards)
		if err != nil {
			t.Fatal(err)
		}
		for i := range shares {
			if c, least := shares[i].Connections[0], 1000/shards; c < least || c > least+1 {
				t.Errorf("%d shards: %d connections for shard %d, want %d or one more", shards, c, i, least)
			}
			if c, least := shares[i].MaxInFlight[2], 5003/shards; c < least || c > least+1 {
				t.Errorf("%d shards: %d instances for shard %d, want %d or one more", shards, c, i, least)
			}
			if n, least := Values(shares[i].Variables[0]), int64(999/shards); n < least || n > least+1 {
				t.Errorf("%d shards: %d values for shard %d, want %d or one more", shards, n, i, least)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	p := plan(5, 3, 10)
	got, err := Split(p, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []runnerv1alpha1.Share{
		{
			Shard: 0, Shards: 2, Slots: runnerv1alpha1.Slots{Of: 2, Residues: []int64{0}},
			Connections: []int{3, 6}, FirstConnection: []int{0, 0},
			Variables:   [][]runnerv1alpha1.Span{{{From: 0, To: 2}}, {{From: 0, To: 5}}},
			MaxInFlight: []int{0, 3, 14}, Once: true,
		},
		{
			Shard: 1, Shards: 2, Slots: runnerv1alpha1.Slots{Of: 2, Residues: []int64{1}},
			Connections: []int{2, 5}, FirstConnection: []int{3, 6},
			Variables:   [][]runnerv1alpha1.Span{{{From: 2, To: 3}}, {{From: 5, To: 10}}},
			MaxInFlight: []int{0, 2, 14},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	one, err := Split(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]runnerv1alpha1.Share{Whole(p)}, one); diff != "" {
		t.Errorf("one shard is not the whole (-want +got):\n%s", diff)
	}
}

func TestTooFewValuesAreShared(t *testing.T) {
	shares, err := Split(plan(4, 3), 4)
	if err != nil {
		t.Fatal(err)
	}
	for i := range shares {
		if diff := cmp.Diff([]runnerv1alpha1.Span{{To: 3}}, shares[i].Variables[0]); diff != "" {
			t.Errorf("shard %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	tests := []struct {
		name   string
		shards int
		want   string
	}{
		{"none", 0, "must be from 1"},
		{"too many", MaxShards + 1, "must be from 1"},
		{"fewer instances", 4, "chain loose has 3 instances for 4 shards"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan(4)
			if tt.name == "fewer instances" {
				p.Chains[2].MaxInFlight = 3
			}
			_, err := Split(p, tt.shards)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestWorkersTakeSlotsInTurn(t *testing.T) {
	share := Whole(plan(100, 1000))
	share.Slots = runnerv1alpha1.Slots{Of: 10, Residues: []int64{1, 4, 7}}
	for n := 1; n <= 8; n++ {
		for j := range int64(100) {
			worker := Workers(&share, n)[j%int64(n)]
			if got, want := Nth(worker.Slots, j/int64(n)), Nth(share.Slots, j); got != want {
				t.Fatalf("%d workers: slot %d of the share is %d, its worker says %d", n, j, want, got)
			}
		}
	}
}

func TestMaxWorkers(t *testing.T) {
	tests := []struct {
		connections, maxInFlight []int
		want                     int
	}{
		{[]int{4}, nil, 4},
		{[]int{4, 1}, nil, 1},
		{[]int{4, 5, 6, 1}, nil, 4},
		{[]int{0}, nil, 1},
		{nil, nil, MaxShards},
		{[]int{9, 3, 7}, nil, 3},
		{[]int{9}, []int{0, 2, 5}, 2},
		{[]int{9}, []int{0, 0}, 9},
	}
	sentTo := map[int]bool{0: true, 1: true, 2: true} // not to the fourth
	for _, tt := range tests {
		if got := MaxWorkers(&runnerv1alpha1.Share{Connections: tt.connections, MaxInFlight: tt.maxInFlight}, sentTo); got != tt.want {
			t.Errorf("connections %v, instances %v: %d workers, want %d", tt.connections, tt.maxInFlight, got, tt.want)
		}
	}
}

func TestCountBelowInvertsNth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := randomSlots(r)
		for j := range int64(300) {
			n := Nth(s, j)
			if got := CountBelow(s, n); got != j {
				t.Fatalf("%v: slot %d is the %d-th, but %d are below it", s, n, j, got)
			}
			if got := CountBelow(s, n+1); got != j+1 {
				t.Fatalf("%v: %d slots up to the %d-th", s, got, j)
			}
		}
		if CountBelow(s, 0) != 0 || CountBelow(s, -5) != 0 {
			t.Fatalf("%v: slots below zero", s)
		}
	}
}

func randomSlots(r *rand.Rand) runnerv1alpha1.Slots {
	s := runnerv1alpha1.Slots{Of: 1 + r.Int64N(50)}
	for i := range s.Of {
		if r.IntN(3) == 0 {
			s.Residues = append(s.Residues, i)
		}
	}
	if len(s.Residues) == 0 {
		s.Residues = []int64{r.Int64N(s.Of)}
	}
	return s
}

func TestCountsOfABoundedStageAddUp(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 7, 64, 256} {
		shares, err := Split(plan(256), shards)
		if err != nil {
			t.Fatal(err)
		}
		for _, requests := range []int64{0, 1, 2, 63, 64, 1000, 1_000_000_007} {
			var sum int64
			for i := range shares {
				sum += CountBelow(shares[i].Slots, requests)
			}
			if sum != requests {
				t.Errorf("%d shards send %d of %d requests", shards, sum, requests)
			}
		}
	}
}

// TestDistribute checks that with any members everything has one owner and slots are even, and that the same
// members have the same shares each time.
func TestDistribute(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		members := randomMembers(r)
		n := len(members)
		p := plan(1+r.IntN(2*n), 1000, int64(n)*3, 0)
		p.Chains[1].MaxInFlight += n
		p.Chains[2].MaxInFlight += n
		shares, err := Distribute(p, members)
		if err != nil {
			t.Fatal(err)
		}
		owned(t, p, shares, 3*int64(n)+5, 0)
		again, err := Distribute(p, slices.Clone(members))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shares, again); diff != "" {
			t.Fatalf("distributed twice (-first +second):\n%s", diff)
		}
		for i, s := range shares {
			if s.Shard != members[i] || s.Shards != members[n-1]+1 || s.Once != (i == 0) {
				t.Fatalf("members %v: share %d is of shard %d of %d, once %v", members, i, s.Shard, s.Shards, s.Once)
			}
			if want := (runnerv1alpha1.Slots{Of: int64(n), Residues: []int64{int64(i)}}); !cmp.Equal(want, s.Slots) {
				t.Fatalf("members %v: share %d has the slots %v", members, i, s.Slots)
			}
		}
	}
}

func randomMembers(r *rand.Rand) []int {
	members := r.Perm(MaxShards)[:1+r.IntN(40)]
	slices.Sort(members)
	return members
}

func TestDistributeOverSome(t *testing.T) {
	got, err := Distribute(plan(1, 9), []int{2, 5})
	if err == nil {
		t.Fatalf("a chain of one instance is distributed over two: %+v", got)
	}
	p := plan(1, 9)
	p.Chains[1].MaxInFlight = 2
	if got, err = Distribute(p, []int{2, 5}); err != nil {
		t.Fatal(err)
	}
	want := []runnerv1alpha1.Share{
		{
			Shard: 2, Shards: 6, Slots: runnerv1alpha1.Slots{Of: 2, Residues: []int64{0}},
			Connections: []int{1, 2}, FirstConnection: []int{0, 0},
			Variables:   [][]runnerv1alpha1.Span{{{From: 0, To: 5}}},
			MaxInFlight: []int{0, 1, 4}, Once: true,
		},
		{
			Shard: 5, Shards: 6, Slots: runnerv1alpha1.Slots{Of: 2, Residues: []int64{1}},
			Connections: []int{1, 1}, FirstConnection: []int{1, 2},
			Variables:   [][]runnerv1alpha1.Span{{{From: 5, To: 9}}},
			MaxInFlight: []int{0, 1, 4},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDistributeRefuses(t *testing.T) {
	for want, members := range map[string][]int{
		"at least one shard":                                       nil,
		"shard -1: must be from 0 to 255":                          {-1, 0},
		"shard 256: must be from 0 to 255":                         {0, 256},
		"shard 1 follows 2: shards must be sorted, each once":      {0, 2, 1},
		"shard 1 follows 1: shards must be sorted, each once":      {1, 1},
		"chain tight has 3 instances for 4 shards: each shard nee": {0, 1, 2, 9},
	} {
		if got, err := Distribute(plan(3), members); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, error %v, want %q", members, got, err, want)
		}
	}
}

func TestNoSlots(t *testing.T) {
	idle := Whole(plan(4, 10))
	idle.Slots = runnerv1alpha1.Slots{Of: 1}
	if n := CountBelow(runnerv1alpha1.Slots{}, 100); n != 0 {
		t.Errorf("no slots: %d below 100", n)
	}
	for _, w := range Workers(&idle, 3) {
		if n := CountBelow(w.Slots, 100); n != 0 {
			t.Errorf("a worker has %d slots of none", n)
		}
	}
}

func TestHugeRangesDoNotOverflow(t *testing.T) {
	p := plan(256, math.MaxInt64-1)
	shares, err := Split(p, 256)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for i := range shares {
		for _, s := range shares[i].Variables[0] {
			if s.From != at || s.To <= s.From {
				t.Fatalf("shard %d has [%d, %d), the one before ended at %d", i, s.From, s.To, at)
			}
			at = s.To
		}
	}
	if at != math.MaxInt64-1 {
		t.Errorf("the last ends at %d", at)
	}
}
