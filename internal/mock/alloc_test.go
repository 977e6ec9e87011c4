//go:build !race

package mock

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// chainClient speaks to a session in memory: a turn creates a resource on each of many streams,
// then changes, reads and deletes all of them.
type chainClient struct {
	c  *session
	id uint32
	in []byte
}

const chainStreams = 100

func newChainClient(tb testing.TB, opts Options) *chainClient {
	opts.Listen = "127.0.0.1:0"
	s, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	c := &chainClient{c: s.newSession(func() {}), id: 1}
	in := h2.AppendSettings([]byte(http2.ClientPreface), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	in = h2.AppendWindowUpdate(in, 0, 1<<30)
	c.receive(tb, in)
	return c
}

func (c *chainClient) receive(tb testing.TB, in []byte) {
	s := c.c.srv
	s.beginTurn()
	defer s.endTurn()
	if err := c.c.receive(in); err != nil {
		tb.Fatal(err)
	}
	s.now += int64(opsLatency) // due by now
	s.respondDue()
	c.c.wrote(len(c.c.h2.Pending()))
}

const opsLatency = 1e9

func (c *chainClient) step(tb testing.TB, method string, serial uint64, body []byte) {
	c.in = c.in[:0]
	for i := range uint64(chainStreams) {
		at := len(c.in)
		c.in = h2.AppendHeaders(c.in, c.id, len(body) == 0, true, nil)
		c.in = hpack.AppendIndexed(c.in, 6)
		switch method {
		case "POST":
			c.in = hpack.AppendIndexed(c.in, 3)
		case "GET":
			c.in = hpack.AppendIndexed(c.in, 2)
		default:
			c.in = hpack.AppendLiteral(c.in, hpack.Without, 2, ":method", method)
		}
		c.in = hpack.AppendLiteralPrefix(c.in, hpack.Without, 4, ":path")
		c.in = append(hpack.AppendInt(c.in, 0, 7, 8+idLen), "/prefix/"...)
		c.in = appendID(c.in, serial+i) // a POST's path does not matter
		length := len(c.in) - at - h2.FrameHeaderLen
		binary.BigEndian.PutUint16(c.in[at+1:], uint16(length))
		if len(body) > 0 {
			c.in = h2.AppendData(c.in, c.id, true, body)
		}
		c.id += 2
	}
	c.receive(tb, c.in)
}

var chainBody = make([]byte, 300)

func (c *chainClient) turn(tb testing.TB) {
	serial := c.c.srv.store.first + c.c.srv.store.next
	c.step(tb, "POST", serial, chainBody)
	c.step(tb, "PATCH", serial, chainBody)
	c.step(tb, "GET", serial, nil)
	c.step(tb, "DELETE", serial, nil)
}

func TestServingDoesNotAllocate(t *testing.T) {
	for name, opts := range map[string]Options{
		"plain":           {},
		"latency":         {Latency: 1},
		"faults":          {Unanswered: 0, NotFound: 0.1, Seed: 1},
		"bodies followed": {TrackBodies: true},
	} {
		c := newChainClient(t, opts)
		for range 3 {
			c.turn(t)
		}
		if n := testing.AllocsPerRun(50, func() { c.turn(t) }); n != 0 {
			t.Errorf("%s: %v allocations in a turn of %d requests, want 0", name, n, 4*chainStreams)
		}
		st := c.c.srv.Stats()
		if st.Answered != 54*4*chainStreams || st.Pending != 0 || opts.NotFound == 0 && (st.ByStatus["204"] != st.Answered/2 || st.Resources != 0) {
			t.Errorf("%s: stats %+v", name, st)
		}
	}
}

// BenchmarkChain measures a request of the chain POST, PATCH, GET, DELETE without I/O.
func BenchmarkChain(b *testing.B) {
	c := newChainClient(b, Options{})
	b.ReportAllocs()
	for i := 0; i < b.N; i += 4 * chainStreams {
		c.turn(b)
		if c.id > 1<<30 {
			b.StopTimer()
			c = newChainClient(b, Options{})
			b.StartTimer()
		}
	}
}

const tenRules = `
rules:
- {name: r1, match: {method: GET, path: "/a/{x}/one"}, responses: [{status: 200}]}
- {name: r2, match: {method: GET, path: "/a/{x}/two"}, responses: [{status: 200}]}
- {name: r3, match: {method: GET, path: "/a/{x}/three"}, responses: [{status: 200}]}
- {name: r4, match: {method: PUT, path: "/b/{x}/{y}"}, responses: [{status: 200}]}
- {name: r5, match: {method: POST, path: "/b/**"}, responses: [{status: 200}]}
- {name: r6, match: {path: "/c/**", headers: [{name: x-a, equals: b}]}, responses: [{status: 200}]}
- {name: r7, match: {path: "/d", query: [{name: x-a, equals: b}]}, responses: [{status: 200}]}
- {name: r8, match: {method: GET, path: "/nudm-sdm/v2/{supi}/sm-data"}, responses: [{status: 200}]}
- {name: r9, match: {method: GET, path: "/e/{x}"}, responses: [{status: 200}]}
- name: r10
  match: {method: GET, path: "/nudm-sdm/v2/{supi}/am-data", headers: [{name: h, startsWith: v}]}
  responses:
  - headers: [{name: content-type, value: application/json}, {name: location, value: "/x/${path.supi}/${uuid}"}]
    body: '{"supi":"${path.supi}","n":${random.int(1,1000)},"h":"${request.header.h}","t":"${time.rfc3339}"}'
    delay: {uniform: {max: 1ms}}
`

// ruleTurn is a batch of requests that are answered in the same turn.
func ruleTurn(tb testing.TB, m *memory, path string) (turn func()) {
	var in []byte
	first := m.id
	for range chainStreams {
		in = append(in, m.get(path)...)
	}
	s := m.c.srv
	return func() {
		s.beginTurn()
		if err := m.c.receive(in); err != nil {
			tb.Fatal(err)
		}
		s.now += int64(opsLatency)
		s.respondDue()
		m.c.wrote(len(m.c.h2.Pending()))
		s.endTurn()
		for at := 0; at < len(in); { // the same requests on the next streams
			length := int(in[at])<<16 | int(in[at+1])<<8 | int(in[at+2])
			id := binary.BigEndian.Uint32(in[at+5:])
			binary.BigEndian.PutUint32(in[at+5:], id+m.id-first)
			at += h2.FrameHeaderLen + length
		}
	}
}

func TestRulesDoNotAllocate(t *testing.T) {
	m := newMemory(t, Options{Rules: ruleSet(t, tenRules)})
	turn := ruleTurn(t, m, "/nudm-sdm/v2/imsi-001010000000001/am-data")
	turn()
	if n := testing.AllocsPerRun(50, turn); n != 0 {
		t.Errorf("%v allocations in a turn of %d requests, want 0", n, chainStreams)
	}
	if st := m.c.srv.Stats(); st.ByStatus["200"] != 52*chainStreams || st.Rules[9].Matches != 52*chainStreams {
		t.Errorf("%+v", st)
	}
}

// BenchmarkRules measures a request among ten rules, with texts in headers and body, without I/O.
func BenchmarkRules(b *testing.B) {
	m := newMemory(b, Options{Rules: ruleSet(b, tenRules)})
	turn := ruleTurn(b, m, "/nudm-sdm/v2/imsi-001010000000001/am-data")
	b.ReportAllocs()
	for i := 0; i < b.N; i += chainStreams {
		turn()
	}
}
