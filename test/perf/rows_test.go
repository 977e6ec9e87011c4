package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/harness"
)

// TestRows holds the marks against those the project set itself.
func TestRows(t *testing.T) {
	type bounds struct {
		peer      string
		mark, aim float64
		floor     float64 // the mark; 0: the row has no floor
	}
	want := map[string]bounds{
		"h2c-m100": {"h2load", 0.60, 0.45, 2.5}, "tls-m100": {"h2load", 0.60, 0.45, 2.3}, "h2c-m100-nginx": {"h2load", 0.85, 0.60, 0},
		"h2c-m1": {"h2load", 0.85, 0.75, 1.15}, "http1": {"wrk", 1.00, 0.90, 1.05}, "http1-no-keep-alive": {"ab", 0.92, 0.88, 1.15},
		"h3-m64": {"quic-go http3", 0.80, 0.60, 0},
		"chain":  {"", 0.60, 0.35, 0}, "chain-60k": {"", 2.0, 1.2, 0}, "chain-60k-batch": {"", 1.3, 0, 0},
		"faults-60k": {"", 1.6, 1.3, 1.6}, "faults-60k-batch": {"", 3.0, 0, 0},
		"faults-120k": {"", 1.6, 1.3, 1.6}, "faults-120k-batch": {"", 3.0, 0, 0},
		"chain-lua": {"", 6.8, 4, 0}, "chain-language": {"", 2.0, 1.0, 0}, "chain-aka": {"h2surge", 1.15, 0, 0}, "jsonpath": {"h2surge", 1.25, 0, 0}, "notifications-50k": {"", 10, 6, 0},
		"grpc-10k": {"ghz", 0.25, 0, 0}, "grpc-10k-h2load": {"h2load", 0.7, 0, 0}, "grpc-10k-post": {"h2surge", 1.25, 0, 0},
		"observed-60k": {"h2surge", 1.05, 0, 0},
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for _, r := range rows() {
		if names[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		names[r.name], ids[r.id] = true, true
		if r.group != groupMarks {
			continue
		}
		got := bounds{mark: r.goals[0].mark, aim: r.goals[0].aim}
		if r.peer != nil {
			got.peer = r.peer.client.name()
		}
		if r.floor != nil {
			got.floor = r.goals[len(r.goals)-1].mark
		}
		if got != want[r.name] {
			t.Errorf("%s: %v, want %v", r.name, got, want[r.name])
		}
		delete(want, r.name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	for _, id := range strings.Fields("S4 S5 S6 S7 S9 S10 S14 S15 S16 S17") {
		if !ids[id] {
			t.Errorf("no row repeats %s", id)
		}
	}
}

// TestSameWork: the sides of a row differ in what its name says, and the floor does not execute chains.
func TestSameWork(t *testing.T) {
	for _, r := range rows() {
		for _, other := range []*side{r.peer, r.floor} {
			if other == nil || r.group == groupScaling {
				continue
			}
			ours, theirs := r.ours.load, other.load
			if ours.protocol != theirs.protocol || ours.inFlight() != theirs.inFlight() || ours.connections != theirs.connections ||
				ours.path != theirs.path && ours.manifest == nil || ours.noKeepAlive != theirs.noKeepAlive || ours.padding != theirs.padding ||
				ours.perSecond != theirs.perSecond || ours.failing != theirs.failing {
				t.Errorf("%s: %+v and %+v", r.name, ours, theirs)
			}
		}
	}
}

// TestGroups: each row is in a table of the page.
func TestGroups(t *testing.T) {
	known := map[group]bool{}
	for _, tb := range tables {
		known[tb.of] = true
	}
	for _, r := range rows() {
		if !known[r.group] {
			t.Errorf("%s: no table for %s", r.name, r.group)
		}
	}
}

func TestManifests(t *testing.T) {
	urls := []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}
	n := 0
	for _, r := range rows() {
		for _, s := range []*side{&r.ours, r.peer} {
			if s == nil || s.load.manifest == nil {
				continue
			}
			n++
			m, err := compile.Load(strings.NewReader(s.load.manifest(urls, 3)))
			if err != nil {
				t.Errorf("%s: %v", r.name, err)
				continue
			}
			plan, warnings, errs := compile.Compile("default/perf", &m.LoadTest.Spec)
			// At 60 000/s, few unanswered requests take all streams until their timeout; the servers of this harness answer all.
			// The row jsonpath measures a capture alone.
			warnings = slices.DeleteFunc(warnings, func(w string) bool {
				return strings.Contains(w, "get no response within") || strings.HasSuffix(w, `"service" is never read`)
			})
			if len(errs)+len(warnings) > 0 {
				t.Errorf("%s: %v %v", r.name, errs, warnings)
				continue
			}
			if got, want := plan.Targets[0].Batch, s.load.choice == v1alpha1.ConnectionChoiceBatch; got != want {
				t.Errorf("%s: batch %v, its load says %v", r.name, got, want)
			}
			if got := plan.Targets[0]; got.Connections != s.load.connections || got.MaxConcurrentStreams != s.load.streams {
				t.Errorf("%s: %d connections of %d streams, its load says %d of %d",
					r.name, got.Connections, got.MaxConcurrentStreams, s.load.connections, s.load.streams)
			}
		}
	}
	if n != 24 {
		t.Errorf("%d manifests, want those of twelve chains and six rows of two sides", n)
	}
}

func TestChainBody(t *testing.T) {
	if got := len(strings.Replace(chainBody(), "${ue}", "0123456789", 1)); got != bodySize {
		t.Errorf("%d bytes", got)
	}
}

// TestCommands: what each client is told, for a row of each kind.
func TestCommands(t *testing.T) {
	s := &served{bases: map[protocol][]string{http1: {"http://127.0.0.1:1"}, h2c: {"http://127.0.0.1:2"}, h2: {"https://127.0.0.1:3"}, h3: {"https://127.0.0.1:3"}}}
	b := &lab{Lab: harness.Lab{H2surge: "h2surge", Self: "perf"}}
	byName := map[string]row{}
	for _, r := range rows() {
		byName[r.name] = r
	}
	b.Dir = "dir"
	for row, want := range map[string]string{
		"h2c-m100":            "dir/floor h2c 127.0.0.1 2 / 10 100 0 3000",
		"tls-m100":            "dir/floor-tls h2 127.0.0.1 3 / 10 100 0 3000",
		"http1":               "dir/floor http1 127.0.0.1 1 / 100 1 0 3000",
		"http1-no-keep-alive": "dir/floor http1-close 127.0.0.1 1 / 100 1 0 3000",
		"faults-60k":          "dir/floor h2c 127.0.0.1 2 / 64 256 60000 3000",
	} {
		got, err := floor{}.command(b, s, byName[row].floor.load, 3)
		if text := strings.Join(got.Argv, " "); err != nil || text != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", row, text, err, want)
		}
	}
	for _, tc := range []struct{ row, ours, theirs string }{
		{"h2c-m100", "h2surge run -q -o json -t 1 -c 10 -m 100 -D 3s http://127.0.0.1:2/", "h2load -t1 -c10 -m100 -D3 http://127.0.0.1:2/"},
		{"tls-m100", "h2surge run -q -o json -t 1 -c 10 -m 100 -D 3s https://127.0.0.1:3/",
			"h2load -t1 -c10 -m100 -D3 --tls13-ciphers=TLS_AES_256_GCM_SHA384 https://127.0.0.1:3/"},
		{"http1", "h2surge run -q -o json -t 1 -c 100 -m 1 -D 3s --h1 http://127.0.0.1:1/", "wrk -t1 -c100 -d3s --latency http://127.0.0.1:1/"},
		{"http1-no-keep-alive", "h2surge run -q -o json -t 1 -c 100 -m 1 -D 3s --h1 --no-keepalive http://127.0.0.1:1/",
			"ab -q -t 3 -n 5000000 -c 100 http://127.0.0.1:1/"},
		{"S14", "h2surge run -q -o json -t 1 -c 200 -m 1 -D 3s --h1 http://127.0.0.1:1/612.html", "h2load -t1 -c200 -m1 -D3 --h1 http://127.0.0.1:1/612.html"},
		{"S4-published", "h2surge run -q -o json -t 1 -c 1 -m 1 -D 3s --h1 http://127.0.0.1:1/",
			`perf go-client {"URL":"http://127.0.0.1:1/","Seconds":3,"Parallel":1,"Requests":2000,"Padding":0,"Unread":true}`},
		{"choice", "h2surge run -q -o json -t 1 -c 16 -m 100 -D 3s --rps 20000 --connection-choice Batch http://127.0.0.1:2/",
			"h2surge run -q -o json -t 1 -c 16 -m 100 -D 3s --rps 20000 --connection-choice Spread http://127.0.0.1:2/"},
		{"grpc-10k", "h2surge run -q -o json -f -", "ghz --insecure --proto dir/health.proto --call grpc.health.v1.Health/Check -d " + `{"service":"orders"}` +
			" -c 200 --connections 20 -r 10000 -z 3s --duration-stop wait --cpus 1 127.0.0.1:2"},
		{"grpc-10k-h2load", "h2surge run -q -o json -f -", "h2load -t1 -c20 -m10 -D3 --rps=500 -d dir/call -H content-type: application/grpc -H te: trailers http://127.0.0.1:2/grpc.health.v1.Health/Check"},
		{"h3-m64", "h2surge run -q -o json -t 1 -c 1 -m 64 -D 3s --h3 https://127.0.0.1:3/",
			`perf go-client {"URL":"https://127.0.0.1:3/","Seconds":3,"Parallel":64,"Requests":0,"Padding":0,"Unread":false,"HTTP3":true}`},
		{"go-parallel-h2", "h2surge run -q -o json -t 1 -c 1 -m 64 -D 3s https://127.0.0.1:3/",
			`perf go-client {"URL":"https://127.0.0.1:3/","Seconds":3,"Parallel":64,"Requests":0,"Padding":0,"Unread":false}`},
		{"go-body-64k-http1", "h2surge run -q -o json -t 1 -c 1 -m 1 -D 3s --h1 http://127.0.0.1:1/?body=65536&header=0",
			`perf go-client {"URL":"http://127.0.0.1:1/?body=65536\u0026header=0","Seconds":3,"Parallel":1,"Requests":0,"Padding":0,"Unread":false}`},
	} {
		r := byName[tc.row]
		for _, c := range []struct {
			of   side
			want string
		}{{r.ours, tc.ours}, {*r.peer, tc.theirs}} {
			got, err := c.of.client.command(b, s, c.of.load, 3)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(got.Argv, " "); text != c.want {
				t.Errorf("%s:\n got %s\nwant %s", tc.row, text, c.want)
			}
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		cpus, server, gateway, client, first, second []int
	}{
		{[]int{0, 1}, []int{0}, []int{0}, []int{1}, []int{0, 1}, []int{0, 1}},
		{[]int{2, 4, 6}, []int{2}, []int{4}, []int{6}, []int{2, 4}, []int{2, 4}},
		{[]int{0, 1, 2, 3}, []int{0}, []int{1}, []int{3}, []int{0, 1}, []int{2, 3}},
	} {
		b := &lab{Lab: harness.Lab{CPUs: tc.cpus}}
		got := [][]int{b.ServerCPUs(), b.gatewayCPUs(), b.ClientCPUs(), b.pair(0), b.pair(1)}
		for i, want := range [][]int{tc.server, tc.gateway, tc.client, tc.first, tc.second} {
			if !slices.Equal(got[i], want) {
				t.Errorf("%v: place %d is %v, want %v", tc.cpus, i, got[i], want)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-seconds", "0"}, {"-run", "("}, {"-run", "a", "-write", "f"}, {"stray"}} {
		if _, err := parseFlags(args); err == nil {
			t.Errorf("%v: accepted", args)
		}
	}
	o, err := parseFlags([]string{"-run", "^S1"})
	if err != nil || o.rounds != 5 || o.seconds != 3 || !o.Wants("S14") || o.Wants("chain-S1") {
		t.Errorf("%+v, %v", o, err)
	}
}
