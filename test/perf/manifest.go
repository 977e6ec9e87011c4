package main

import (
	"fmt"
	"strings"
)

// bodySize is the length of the chain's bodies in bytes, variable included.
const bodySize = 300

// chainBody is as long as bodySize once the ten digits of the variable are in it.
func chainBody() string {
	const begin, end = `{"gpsi":"msisdn-${ue}","pad":"`, `"}`
	return begin + strings.Repeat("x", bodySize-len(begin)-len(end)+len("${ue}")-10) + end
}

// chainManifest has what a user of chains would have: a variable, a capture, checks, timeouts.
func chainManifest(url, mode string, seconds int) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: chain}
spec:
  targets: [{name: target, url: %q, connections: 4, maxConcurrentStreams: 64}]
  variables: [{name: ue, range: {start: 0, end: 1000000000, width: 10}}]
  templates:
    - name: create
      method: POST
      path: /npcf-policyauthorization/v1/app-sessions
      headers: [{name: content-type, value: application/json}]
      body: '%[2]s'
      timeout: 2s
      expect: {status: ["201"]}
      capture: [{name: session, header: location}]
    - name: update
      method: PATCH
      path: ${session}
      headers: [{name: content-type, value: application/merge-patch+json}]
      body: '%[2]s'
      timeout: 2s
      expect: {status: ["200", "204"]}
    - {name: delete, method: DELETE, path: "${session}", timeout: 2s, expect: {status: ["204"]}}
  chains: [{name: session, target: target, steps: [{template: create}, {template: update}, {template: delete}]}]
  rates: [{name: load, %[3]s, duration: %[4]ds}]
`, url, chainBody(), mode, seconds)
}

// getManifest spreads GETs over a load-share group.
func getManifest(urls []string, workers, connections, streams, seconds int) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: get}
spec:
  targets: [{name: target, urls: ["%s"], connections: %d, maxConcurrentStreams: %d}]
  templates: [{name: get, path: /}]
  chains: [{name: get, target: target, steps: [{template: get}]}]
  rates: [{name: load, asFastAsPossible: true, duration: %ds}]
  runner: {shards: %d}
`, strings.Join(urls, `", "`), connections, streams, seconds, workers)
}
