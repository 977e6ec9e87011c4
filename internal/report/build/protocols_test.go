package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestProtocols: the report names the protocol of each URL, and both if shards found different ones. A URL with
// placeholders is the one of the runner, which can differ from shard to shard.
func TestProtocols(t *testing.T) {
	plan := &rv.Plan{Targets: []rv.Target{
		{Name: "old", Protocol: rv.ProtocolALPN, Endpoints: []rv.Endpoint{{Scheme: "https", Authority: "o.example"}}},
		{Name: "web", Protocol: rv.ProtocolDiscovered, Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "a.example", BasePath: "/v1"}, {Scheme: "http", Authority: "b.example"}}},
		{Name: "own", Protocol: rv.ProtocolDiscovered, Endpoints: []rv.Endpoint{{Scheme: "http", URL: rv.Text{{Literal: "http://"}, {Variable: 1}}}}},
	}}
	const h1, h2 = rv.ProtocolHTTP1, rv.ProtocolH2C
	snapshot := func(a, b, own rv.Protocol, url string) *rv.Snapshot {
		return &rv.Snapshot{Protocols: [][]rv.EndpointProtocol{nil, {{Protocol: a}, {Protocol: b}}, {{Protocol: own, URL: url}}}}
	}
	got := Protocols(plan, snapshot(h1, "", h1, "http://c.example"), snapshot(h1, h2, h1, "http://d.example"),
		snapshot(h2, "", h1, "http://c.example"), &rv.Snapshot{})
	want := []rv.FoundProtocol{
		{Target: "web", URL: "http://a.example/v1", Protocol: h1},
		{Target: "web", URL: "http://a.example/v1", Protocol: h2},
		{Target: "web", URL: "http://b.example", Protocol: h2},
		{Target: "own", URL: "http://c.example", Protocol: h1},
		{Target: "own", URL: "http://d.example", Protocol: h1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
