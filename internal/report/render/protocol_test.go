package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestProtocolNotes: servers of HTTP/1.1 are named, and those that are not the same for all shards.
func TestProtocolNotes(t *testing.T) {
	r := &rv.Report{Protocols: []rv.FoundProtocol{
		{Target: "a", URL: "http://a.example", Protocol: rv.ProtocolH2C},
		{Target: "b", URL: "http://b.example", Protocol: rv.ProtocolHTTP1},
		{Target: "c", URL: "http://c.example", Protocol: rv.ProtocolHTTP1},
		{Target: "c", URL: "http://c.example", Protocol: rv.ProtocolH2C},
		{Target: "d", URL: "https://d.example", Protocol: rv.ProtocolH3},
	}}
	want := []string{
		"target b speaks HTTP/1.1 at http://b.example",
		"target c speaks HTTP/1.1 at http://c.example, and HTTP/2 to other shards",
		"target d speaks HTTP/3 at https://d.example",
	}
	if diff := cmp.Diff(want, protocolNotes(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
