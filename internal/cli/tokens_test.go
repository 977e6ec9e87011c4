package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/test/markdown"
)

// tokenRules serves config/samples/targets/nrf-tokens.yaml.
func tokenRules(t *testing.T) *mock.Server {
	t.Helper()
	set, err := rules.LoadFile("../../config/samples/targets/nrf-tokens.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, mock.Options{Rules: set, Seed: 1})
}

// TestSampleWithTokens: each chain instance gets a token that the target accepts.
func TestSampleWithTokens(t *testing.T) {
	waits(t)
	text, err := os.ReadFile("../../config/samples/nrf-token.yaml")
	if err != nil {
		t.Fatal(err)
	}
	peer := tokenRules(t)
	url := "http://" + peer.Addr().String()
	r := runLess(t, markdown.Block{File: "nrf-token", Text: string(text)}, nil, "", "--target-url", "nrf="+url, "--target-url", "udm="+url)
	if got, want := peer.Stats().Requests, uint64(r.WarmUp.Sent+r.Requests.Sent+r.Graceful.Sent); got != want {
		t.Errorf("the target counted %d requests, the report %d", got, want)
	}
}

// TestSampleRemovesProfiles: the UDM answers nothing, so that each chain instance is aborted. All of them deregister.
func TestSampleRemovesProfiles(t *testing.T) {
	waits(t)
	read := func(name string) string {
		text, err := os.ReadFile("../../config/samples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	set, err := rules.Load([]byte(strings.Replace(read("targets/nrf-tokens.yaml"), "/nudm-sdm/v2/{supi}/am-data", "/none/{supi}", 1)), ".")
	if err != nil {
		t.Fatal(err)
	}
	peer := serve(t, mock.Options{Rules: set, Seed: 1})
	url := "http://" + peer.Addr().String()
	// A chain instance whose token is late, on a busy machine, can deregister.
	sample := strings.Replace(read("nrf-token.yaml"), "gracefulStop: 10s", "gracefulStop: 2m", 1)
	var out, errors bytes.Buffer
	code := execute(t.Context(), []string{"h2surge", "run", "-o", "json", "-f", "-", "--target-url", "nrf=" + url, "--target-url", "udm=" + url},
		strings.NewReader(lessLoad(t, sample)), &out, &errors, parts())
	r := &rv.Report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil || code != 2 && code != 3 { // 3: this machine was busy
		t.Fatalf("exit code %d, %v\n%s", code, err, errors.String())
	}
	matches := map[string]uint64{}
	for _, rule := range peer.Stats().Rules {
		matches[rule.Name] = rule.Matches
	}
	if matches["register"] == 0 || matches["deregister"] != matches["register"] || matches["deregister-without-scope"] != 0 {
		t.Errorf("the target counted %v", matches)
	}
	if c := r.Chains; c.Aborted == 0 || c.AlwaysSent < c.Aborted || c.AlwaysSkipped != 0 {
		t.Errorf("%+v, after the load %+v", c, r.Graceful)
	}
}

// tokensExpire is a test whose setup registers the client, and whose tokens expire during the load.
const tokensExpire = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: tokens}
spec:
  targets:
    - {name: nrf, url: "http://ADDRESS"}
    - name: udm
      url: "http://ADDRESS"
      auth:
        oauth2:
          tokenURL: http://ADDRESS/oauth2/token
          http2: true
          scopes: [nudm-sdm]
          parameters: [{name: nfInstanceId, value: 6faf1bbc-6e4a-4454-a507-a14ef8e1bc5c}, {name: nfType, value: AMF}, {name: targetNfType, value: UDM}]
  chains:
    - name: register
      phase: Setup
      target: nrf
      steps:
        - name: register
          request: {method: PUT, path: /nnrf-nfm/v1/nf-instances/6faf1bbc-6e4a-4454-a507-a14ef8e1bc5c, body: '{"nfType":"AMF"}', expect: {status: [201]}}
    - name: read
      target: udm
      steps:
        - name: am-data
          request: {path: /nudm-sdm/v2/imsi-001010000000001/am-data, timeout: 30s, expect: {status: [200]}}
  rates: [{name: hold, duration: 7s, requestsPerSecond: 300}]
`

// TestTokensExpire: the target accepts the token of each request, although tokens expire after six seconds. It has seen as many
// requests as the report counts, and the NRF has granted as many tokens; the report may lack one that was granted at the end.
func TestTokensExpire(t *testing.T) {
	waits(t)
	peer := tokenRules(t)
	r := run(t, strings.ReplaceAll(tokensExpire, "ADDRESS", peer.Addr().String()), 0, "-f", "-")
	matches := map[string]uint64{}
	for _, rule := range peer.Stats().Rules {
		matches[rule.Name] = rule.Matches
	}
	if n := r.Requests; n.Sent == 0 || n.Succeeded != n.Sent || n.Dropped != 0 || matches["am-data"] != uint64(n.Sent) || matches["register"] != 1 {
		t.Errorf("%+v, the target counted %v", n, matches)
	}
	a := r.Authorizations
	if len(a) != 1 || a[0].Target != "udm" || a[0].Tokens < 3 || matches["token"]-uint64(a[0].Tokens) > 1 || a[0].Failures+a[0].SentWithout != 0 {
		t.Errorf("%+v, the target counted %v", a, matches)
	}
}
