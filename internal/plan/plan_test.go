package plan_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
)

// small is a plan with one step.
func small() *runnerv1alpha1.Plan {
	return &runnerv1alpha1.Plan{
		APIVersion: runnerv1alpha1.APIVersion,
		Kind:       runnerv1alpha1.PlanKind,
		Name:       "default/test",
		Seed:       1<<64 - 1,
		Targets: []runnerv1alpha1.Target{{
			Name: "t", Endpoints: []runnerv1alpha1.Endpoint{{Scheme: "http", Authority: "a<b>&", Address: "a:80"}},
			Protocol: runnerv1alpha1.ProtocolH2C, Connections: 2, MaxConcurrentStreams: 1, ConnectTimeout: time.Second,
		}},
		Chains: []runnerv1alpha1.Chain{{
			Name: "c", Weight: 1,
			Steps: []runnerv1alpha1.Step{{Name: "s", Method: "GET", Path: runnerv1alpha1.Text{{Literal: "/"}}, Timeout: time.Second}},
		}},
		Rates:  []runnerv1alpha1.Rate{{Name: "r", Count: 1, Period: time.Second, Duration: time.Second}},
		Drain:  time.Second,
		Shards: 2,
	}
}

func TestBytesAndBack(t *testing.T) {
	p := small()
	canonical, sum, err := plan.Canonical(p)
	if err != nil {
		t.Fatal(err)
	}
	// The operator compares the stored hash of a plan with the hash that a later version computes.
	if want := "09472023a6f17ad156c8ccffeb691117212fdc68cb6a15761ee1f4d577a608fe"; sum != want {
		t.Errorf("hash is %s, want %s: the canonical form has changed", sum, want)
	}
	if bytes.Contains(canonical, []byte(`\u003c`)) || bytes.HasSuffix(canonical, []byte("\n")) {
		t.Errorf("not canonical: %s", canonical)
	}
	gz, err := plan.Gzip(canonical)
	if err != nil {
		t.Fatal(err)
	}
	again, err := plan.Gzip(canonical)
	if err != nil || !bytes.Equal(gz, again) {
		t.Errorf("compressed twice, the bytes differ (%v)", err)
	}
	back, err := plan.Decode(gz, sum)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var other *plan.DigestError
	if _, err := plan.Decode(gz, strings.Repeat("0", 64)); !errors.As(err, &other) || other.Have != sum {
		t.Errorf("a plan with another digest: %v", err)
	}
}

// TestHash: the policy of an operator is in the digest, which says what runs, and not in the hash, which says what a user asked for.
func TestHash(t *testing.T) {
	p, denying := small(), small()
	denying.RequestLimit = 500
	if hash, err := plan.PolicyHash(p); hash != "" || err != nil {
		t.Errorf("without a policy, its hash is %q (%v)", hash, err)
	}
	limited, err := plan.PolicyHash(denying)
	if err != nil {
		t.Fatal(err)
	}
	denying.Policy = &runnerv1alpha1.AddressPolicy{Denied: []runnerv1alpha1.AddressRule{{Name: "Nodes", CIDRs: []string{"10.0.0.1/32"}}}}
	_, digest, err := plan.Canonical(p)
	if err != nil {
		t.Fatal(err)
	}
	if hash, err := plan.Hash(p); hash != digest || err != nil {
		t.Errorf("without a policy, hash %s (%v) is not digest %s", hash, err, digest)
	}
	if hash, err := plan.Hash(denying); hash != digest || err != nil {
		t.Errorf("with a policy, hash %s (%v), want %s", hash, err, digest)
	}
	if _, other, err := plan.Canonical(denying); other == digest || err != nil {
		t.Errorf("with a policy, the digest is the same (%v)", err)
	}
	if hash, err := plan.PolicyHash(denying); len(hash) != 64 || hash == limited || err != nil {
		t.Errorf("the policy has the hash %q, and without addresses %q (%v)", hash, limited, err)
	}
	if denying.Policy == nil || denying.RequestLimit == 0 {
		t.Error("Hash changed the plan")
	}
}

// TestGzipHasNoTime: the header of RFC 1952 2.3 has neither time nor name.
func TestGzipHasNoTime(t *testing.T) {
	gz, err := plan.Gzip([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if flags, mtime := gz[3], gz[4:8]; flags != 0 || !bytes.Equal(mtime, make([]byte, 4)) {
		t.Errorf("flags %x, mtime %x", flags, mtime)
	}
}

func TestTooLarge(t *testing.T) {
	noise := make([]byte, plan.MaxCompressed+1)
	random := rand.NewChaCha8([32]byte{})
	if _, err := random.Read(noise); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		bytes []byte
		what  string
	}{
		{"canonical", make([]byte, plan.MaxCanonical+1), "canonical"},
		{"compressed", noise, "compressed"},
	} {
		_, err := plan.Gzip(tc.bytes)
		var large *plan.TooLargeError
		if !errors.As(err, &large) || large.What != tc.what || large.Size <= large.Limit {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func gz(t *testing.T, s string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestDecodeRefuses(t *testing.T) {
	canonical, _, err := plan.Canonical(small())
	if err != nil {
		t.Fatal(err)
	}
	whole := gz(t, string(canonical))
	for _, tc := range []struct {
		name  string
		input []byte
		want  string
	}{
		{"nothing", nil, "decompressing the plan"},
		{"no gzip", []byte("{}"), "decompressing the plan"},
		{"a part", whole[:len(whole)-4], "decompressing the plan"},
		{"a bomb", gz(t, strings.Repeat(" ", plan.MaxCanonical+1)), "allowed: at most 16777216"},
		{"an unknown field", gz(t, `{"shardz":1}`), `unknown field "shardz"`},
		{"two documents", gz(t, string(canonical)+"{}"), "there is more data"},
		{"something else", gz(t, `{"apiVersion":"v1","kind":"List"}`), `kind "List" are not`},
	} {
		if _, err := plan.Decode(tc.input, ""); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

// FuzzParse: no bytes make Parse panic, and what it takes is canonical after one round.
func FuzzParse(f *testing.F) {
	canonical, _, err := plan.Canonical(small())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(canonical)
	f.Add([]byte(fmt.Sprintf(`{"apiVersion":%q,"kind":"Plan","chains":[{"steps":[{}]}]}`, runnerv1alpha1.APIVersion)))
	f.Fuzz(func(t *testing.T, input []byte) {
		p, err := plan.Parse(input)
		if err != nil {
			return
		}
		first, sum, err := plan.Canonical(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := plan.Parse(first)
		if err != nil {
			t.Fatal(err)
		}
		if _, sum2, err := plan.Canonical(again); err != nil || sum2 != sum {
			t.Errorf("%s became %s (%v)", sum, sum2, err)
		}
	})
}

// TestLoadHash: two runs of a schedule have the same hash, and plans that send something else have other ones.
func TestLoadHash(t *testing.T) {
	hash := func(edit func(*runnerv1alpha1.Plan)) string {
		p := small()
		edit(p)
		got, err := plan.LoadHash(p)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := hash(func(*runnerv1alpha1.Plan) {})
	same := func(p *runnerv1alpha1.Plan) {
		p.Name, p.Seed, p.Shards, p.Deadline, p.LeaseDuration, p.RequestLimit = "default/other", 2, 4, time.Hour, time.Minute, 5
		p.Rates[0].Seed = 3
		p.Thresholds = []runnerv1alpha1.Threshold{{Name: "t"}}
		p.Baselines = []runnerv1alpha1.Baseline{{Name: "b"}}
		p.Policy = &runnerv1alpha1.AddressPolicy{}
		p.Observe = []runnerv1alpha1.Observation{{Name: "o"}}
		p.OTLP = 1
	}
	if got := hash(same); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, other := range map[string]func(*runnerv1alpha1.Plan){
		"rate":   func(p *runnerv1alpha1.Plan) { p.Rates[0].Count = 2 },
		"target": func(p *runnerv1alpha1.Plan) { p.Targets[0].Endpoints[0].Address = "b:80" },
		"path":   func(p *runnerv1alpha1.Plan) { p.Chains[0].Steps[0].Path = runnerv1alpha1.Text{{Literal: "/x"}} },
	} {
		if got := hash(other); got == want {
			t.Errorf("another %s has the same hash", name)
		}
	}
	p := small()
	p.Rates[0].Seed = 7
	if _, err := plan.LoadHash(p); err != nil || p.Rates[0].Seed != 7 {
		t.Errorf("the plan changed: %+v, %v", p.Rates[0], err)
	}
}
