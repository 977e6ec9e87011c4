package loop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// chosen is a bench whose turns take 10 ms, so that each turn sends several requests.
func chosen(t *testing.T, p *rv.Plan, perTurn int, serve func(*simRequest) reply) *bench {
	p.Rates = []rv.Rate{perSecond(int64(100*perTurn), 2*time.Second)}
	p.Chains[0].Steps[0].Timeout, p.Drain = time.Minute, time.Minute
	b := newBench(t, p, serve)
	b.turnCost = 10 * time.Millisecond
	return b
}

// byTurn returns the connections of the requests of each turn, in the order in which they were sent.
func (b *bench) byTurn() (turns [][]int) {
	last := time.Duration(-1)
	for _, r := range b.served {
		if r.At != last {
			turns, last = append(turns, nil), r.At
		}
		turns[len(turns)-1] = append(turns[len(turns)-1], r.Conn)
	}
	return turns
}

// TestConnectionChoice: three connections of four streams. The first turn sends one request more than the others, which is
// due at the start of the load. In a turn, the peers get the requests connection by connection.
func TestConnectionChoice(t *testing.T) {
	unanswered := func(n ...int) func(*simRequest) reply {
		served := make([]int, len(n))
		return func(r *simRequest) reply {
			if served[r.Conn]++; served[r.Conn] <= n[r.Conn] {
				return reply{}
			}
			return reply{Status: 200}
		}
	}
	for _, tt := range []struct {
		name    string
		plan    func(*rv.Target)
		perTurn int
		serve   func(*simRequest) reply
		want    string
	}{
		{"spread", spread, 4, ok(0), "[[0 0 1 1 2] [2 2 0 1] [0 0 1 2] [1 1 2 0] [2 2 0 1]"},
		{"half of a connection", batch, 2, ok(0), "[[0 0 0] [1 1] [2 2] [0 0] [1 1]"},
		{"one connection", batch, 4, ok(0), "[[0 0 0 0 1] [1 1 1 1] [2 2 2 2] [0 0 0 0] [1 1 1 1]"},
		{"one connection and a half", batch, 6, ok(0), "[[0 0 0 0 1 1 1] [1 1 1 1 2 2] [2 2 2 2 0 0] [0 0 0 0 1 1]"},
		{"all connections", batch, 12, ok(0), "[[0 0 0 0 1 1 1 1 2 2 2 2] [1 1 1 1 2 2 2 2 0 0 0 0] [2 2 2 2 0 0 0 0 1 1 1 1]"},
		{"connection 1 becomes full", batch, 4, unanswered(0, 4, 0), "[[0 0 0 0 1] [1 1 1 2] [2 2 2 2] [0 0 0 0] [2 2 2 2] [0 0 0 0]"},
		{"connection 1 becomes half full", batch, 3, unanswered(0, 2, 0), "[[0 0 0 0] [1 1 1] [2 2 2] [0 0 0] [1 1 2] [2 2 2] [0 0 0] [1 1 2]"},
		{"spread, and connection 1 becomes full", spread, 4, unanswered(0, 4, 0), "[[0 0 1 1 2] [2 2 0 1] [0 0 1 2] [2 2 0 0] [2 2 0 0]"},
		{"connections of two requests", func(t *rv.Target) { t.Batch, t.Connecting.MaxRequests = true, 2 }, 3, ok(0), "[[0 0 1 1] [2 2] [3 3 4 4] [5 5] [6 6 7 7]"},
		{"HTTP/1.1 without pipelining", func(t *rv.Target) { t.Batch, t.Protocol = true, rv.ProtocolHTTP1 }, 2, ok(0), "[[0 1 2] [1 2] [2 0] [0 1] [1 2]"},
		{"HTTP/1.1 with pipelining", func(t *rv.Target) { t.Batch, t.Protocol, t.HTTP1.Pipeline = true, rv.ProtocolHTTP1, 2 }, 3, ok(0), "[[0 0 1 1] [1 1 2] [2 2 0] [0 0 1] [1 1 2]"},
		// Connection 1 has not processed its second request, which goes to connection 2. Connection 3 takes its place.
		{"GOAWAY", batch, 2, func(r *simRequest) reply { return reply{Status: 200, Announces: r.Conn == 1} },
			"[[0 0 0] [1 1] [2 2 2] [0 0] [3 3] [2 2] [0 0] [3 3]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets()
			p.Targets[0].Connections, p.Targets[0].MaxConcurrentStreams = 3, 4
			tt.plan(&p.Targets[0])
			b := chosen(t, p, tt.perTurn, tt.serve)
			if got := b.run(); got.Sent != int64(200*tt.perTurn) || got.Lost > 0 {
				t.Errorf("got %+v", got)
			}
			if got := fmt.Sprint(b.byTurn()); !strings.HasPrefix(got, tt.want) {
				t.Errorf("connections by turn %.150s, want %s", got, tt.want)
			}
		})
	}
}

func spread(*rv.Target)  {}
func batch(t *rv.Target) { t.Batch = true }

// TestBatchUsesAll: whatever the numbers are, a turn uses as many connections as it needs, each connection is used at least
// once in as many turns as there are connections, and all connections, and so all endpoints, carry equally many requests.
func TestBatchUsesAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		connections, streams := 2+random.IntN(7), 1+random.IntN(9)
		perTurn := 1 + random.IntN(connections*streams)
		t.Run(fmt.Sprintf("%d requests, %d connections of %d streams", perTurn, connections, streams), func(t *testing.T) {
			p := gets()
			p.Targets[0].Connections, p.Targets[0].MaxConcurrentStreams, p.Targets[0].Batch = connections, streams, true
			p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: "u", Address: "u:80"})
			b := chosen(t, p, perTurn, ok(0))
			b.run()
			lastUse, carried := make([]int, connections), make([]int, connections)
			for i, turn := range b.byTurn() {
				used := slices.Compact(slices.Clone(turn))
				if want := (len(turn) + streams - 1) / streams; len(used) != want {
					t.Errorf("turn %d used %v for %d requests, want %d connections", i, used, len(turn), want)
				}
				for _, c := range turn {
					if i-lastUse[c] > connections {
						t.Errorf("connection %d was used in turn %d, and before in turn %d", c, i, lastUse[c])
					}
					lastUse[c] = i
					carried[c]++
				}
			}
			if slices.Max(carried)-slices.Min(carried) > perTurn+streams {
				t.Errorf("the connections carried %v requests", carried)
			}
		})
	}
}
