package main

import (
	"fmt"
	"strings"
)

// getManifest sends GETs in stages. The connections have more streams than any row needs.
func getManifest(url, rates, runner string) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: accuracy}
spec:
  targets: [{name: target, url: %q, connections: 4, maxConcurrentStreams: 512}]
  chains: [{name: get, target: target, steps: [{name: get, request: {path: /, timeout: 2s}}]}]
  rates: [%s]
  runner: {%s}
`, url, rates, runner)
}

// overHTTP3 sends the requests of getManifest over HTTP/3.
func overHTTP3(manifest string) string {
	return strings.Replace(manifest, "connections:", "protocol: h3, tls: {insecureSkipVerify: true}, connections:", 1)
}

// postManifest sends each value of a sequence in one POST: as many as the stages have slots.
func postManifest(url string, shards int) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: accuracy}
spec:
  targets: [{name: target, url: %q, connections: 6, maxConcurrentStreams: 128}]
  variables: [{name: id, range: {start: 0, end: %d, width: 8}, atEnd: Stop}]
  chains:
    - name: post
      target: target
      steps: [{name: post, request: {method: POST, path: /, body: "${id}", timeout: 2s, expect: {status: [201]}}}]
  rates:
    - {name: low, requestsPerSecond: 1000, duration: 2s}
    - {name: high, requestsPerSecond: 3000, duration: 2s}
  runner: {shards: %d}
`, url, lowSlots+highSlots, shards)
}

// The numbers of slots of the stages of postManifest.
const (
	lowSlots  = 2 * 1000
	highSlots = 2 * 3000
)

// delayRules answer every request with a delay.
func delayRules(delay string) string {
	return fmt.Sprintf("apiVersion: h2surge.io/v1alpha1\nkind: Target\nrules: [{name: all, match: {path: /}, responses: [{status: 201, delay: {%s}}]}]\n", delay)
}
