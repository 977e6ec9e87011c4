package chain

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quic-go/qpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// decodedQPACK reads a header block of HTTP/3.
func decodedQPACK(t *testing.T, block []byte) (out []string) {
	t.Helper()
	for next := qpack.NewDecoder().Decode(block); ; {
		f, err := next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%x: %v", block, err)
		}
		out = append(out, f.Name+": "+f.Value)
	}
}

// TestHTTP3HasTheFieldsOfHTTP2: a request has the same fields over both protocols.
func TestHTTP3HasTheFieldsOfHTTP2(t *testing.T) {
	for name, p := range map[string]*rv.Plan{
		"secrets, and names with placeholders": secured(), "hostile values": hostile("a\r\n\x00 é"), "a life cycle": lifeCycle(),
		"long values": hostile(strings.Repeat("v", 300)),
	} {
		t.Run(name, func(t *testing.T) {
			g := program(t, p)
			e := &g.Targets[0].Endpoints[0]
			src := sources(g)
			h2, h3 := NewEncoder(g, 0, e), NewQPACKEncoder(g, 0, e)
			if state := h3.Begin(MaxTable); state != Static {
				t.Errorf("state %d", state)
			}
			for c := range g.Chains {
				var in Instance
				in.Start(g, c, src, 0)
				for i := range g.Chains[c].Captures {
					in.Capture(i, []byte("a\r\nb"))
				}
				for i := g.Chains[c].First; i < g.Chains[c].First+g.Chains[c].Len; i++ {
					block, _ := h2.AppendHeaders(nil, &g.Steps[i], &in, 1000, Static, []byte("a=b"))
					want := strings.ReplaceAll(strings.Join(decoded(t, block), "\n"), "!", "")
					block, state := h3.AppendHeaders([]byte("before"), &g.Steps[i], &in, 1000, Static, []byte("a=b"))
					got := strings.Join(decodedQPACK(t, block[len("before"):]), "\n")
					if diff := cmp.Diff(want, strings.ReplaceAll(got, "!", "")); diff != "" || state != Static {
						t.Errorf("step %d: state %d (-h2 +h3):\n%s", i, state, diff)
					}
				}
			}
		})
	}
}

// TestMessagesOverHTTP3 are encoded as over HTTP/2.
func TestMessagesOverHTTP3(t *testing.T) {
	g := program(t, secured())
	e := &g.Targets[0].Endpoints[0]
	m := message.Message{Method: []byte("PUT"), Scheme: []byte("https"), Authority: []byte("a"), Path: []byte("/p")}
	for _, f := range [][2]string{{"x-name-that-is-long", "v"}, {"te", "trailers"}, {"te", "gzip"}, {"authorization", "s"},
		{"x", strings.Repeat("v", 200)}, {"proxy-authorization", "s"}} {
		m.Fields = append(m.Fields, message.Field{Name: []byte(f[0]), Value: []byte(f[1])})
	}
	want := strings.ReplaceAll(strings.Join(decoded(t, NewEncoder(g, 0, e).AppendMessage(nil, &m, 3)), "\n"), "!", "")
	got := strings.Join(decodedQPACK(t, NewQPACKEncoder(g, 0, e).AppendMessage(nil, &m, 3)), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-h2 +h3):\n%s", diff)
	}
}
