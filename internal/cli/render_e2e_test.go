package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/target"
)

// ordered has one connection with one stream, so that the target sees the requests in the order in
// which they are made.
const ordered = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: ordered}
spec:
  seed: 3
  targets: [{name: peer, url: "http://URL/base", connections: 1, maxConcurrentStreams: 1}]
  variables:
    - {name: ue, range: {start: 0, end: 1000, width: 4}, order: Shuffled}
    - {name: id, uuid: {}}
    - {name: trace, random: {hex: {length: 12}}, scope: Step}
    - {name: person, csv: {text: "name,pin\nann,1\nbob,2\n"}}
  templates:
    - name: create
      method: POST
      path: /things/${ue}?by=${urlEncode(person.name)}
      headers: [{name: X-Trace, value: "${upper(trace)}"}, {name: content-type, value: text/plain}, {name: x-pin, value: "${person.pin}"}]
      body: "${id} ${sha256(ue)}"
      capture: [{name: thing, header: location}]
    - {name: look, path: "${thing}", headers: [{name: x-trace, value: "${trace}"}]}
    - name: made
      path: /made
      script:
        lua: |
          function on_request(req) req:set_header("x-made", vars.ue .. tostring(math.random(1000))) end
  chains:
    - {name: things, target: peer, weight: 2, steps: [{template: create}, {template: look}]}
    - {name: makings, target: peer, steps: [{template: made}]}
  rates: [{name: all, closedLoop: {}, requests: 25}]
`

// TestRenderIsWhatIsSent: the target gets what was printed.
func TestRenderIsWhatIsSent(t *testing.T) {
	var record lockedBuffer
	peer := serve(t, target.Options{Record: &record})
	manifest := strings.Replace(ordered, "URL", peer.Addr().String(), 1)
	name := file(t, "ordered.yaml", manifest)
	run(t, "", 0, "-f", name)
	printed := h2surge(t, nil, nil, "render", name, "-o", "json", "--count", "25")
	var want []rendered
	if err := json.Unmarshal([]byte(printed.out), &want); err != nil {
		t.Fatal(err, printed.errors)
	}
	lines := strings.Split(strings.TrimSpace(record.String()), "\n")
	if len(lines) != 25 {
		t.Fatalf("%d requests", len(lines))
	}
	for i, line := range lines {
		var got target.Recorded
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		compareRendered(t, &want[i], &got)
	}
}

func compareRendered(t *testing.T, want *rendered, got *target.Recorded) {
	t.Helper()
	fields := [][2]string{{":method", got.Method}}
	path := [2]string{":path", got.Path}
	for _, f := range got.Headers {
		fields = append(fields, [2]string{f[0], f[1]})
	}
	var wanted [][2]string
	for _, f := range want.Fields {
		switch {
		case f.Name != ":path":
			wanted = append(wanted, [2]string{f.Name, f.Value})
		case f.Value != "<capture thing of step create>" && f.Value != path[1]:
			t.Errorf("path %s, want %s", path[1], f.Value)
		}
	}
	if diff := cmp.Diff(wanted, fields); diff != "" || got.Body != want.Body {
		t.Errorf("%d. %s (-printed +sent):\n%s%q, %q", want.Instance, want.Step, diff, want.Body, got.Body)
	}
}
