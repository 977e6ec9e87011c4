package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// bodySize is the length of the chain's bodies in bytes, variable included.
const bodySize = 300

// chainBody is as long as bodySize once the ten digits of the variable are in it.
func chainBody() string {
	const begin, end = `{"gpsi":"msisdn-${ue}","pad":"`, `"}`
	return begin + strings.Repeat("x", bodySize-len(begin)-len(end)+len("${ue}")-10) + end
}

// chainManifest has what a user of chains would have: a variable, a capture, checks, timeouts. The mode is closedLoop,
// or a rate.
func chainManifest(l load, url, mode string, seconds int) string {
	choice := cmp.Or(l.choice, v1alpha1.ConnectionChoiceSpread)
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: chain}
spec:
  targets: [{name: target, url: %q, connections: %d, maxConcurrentStreams: %d, connectionChoice: %s}]
  variables: [{name: ue, range: {start: 0, end: 1000000000, width: 10}}]
  templates:
    - name: create
      method: POST
      path: /npcf-policyauthorization/v1/app-sessions
      headers: [{name: content-type, value: application/json}]
      body: '%[5]s'
      timeout: 2s
      expect: {status: [201]}
      capture: [{name: session, header: location}]
    - name: update
      method: PATCH
      path: ${session}
      headers: [{name: content-type, value: application/merge-patch+json}]
      body: '%[5]s'
      timeout: 2s
      expect: {status: [200, 204]}
    - {name: delete, method: DELETE, path: "${session}", timeout: 2s, expect: {status: [204]}}
  chains: [{name: session, target: target, steps: [{template: create}, {template: update}, {template: delete}]}]
  rates: [{name: load, %[6]s, duration: %[7]ds}]
  thresholds: [{name: failures, metric: ErrorRate, max: %[8]d%%}]
`, url, l.connections, l.streams, choice, chainBody(), mode, seconds, int(math.Ceil(150*l.failing))+1)
}

// luaManifest is the chain of h2loadrunner's users: a script makes every request from the response before, and
// judges every response.
func luaManifest(url string, seconds int) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: lua}
spec:
  targets: [{name: target, url: %q, connections: 4, maxConcurrentStreams: 64}]
  variables: [{name: ue, range: {start: 0, end: 1000000000, width: 10}}]
  templates:
    - name: scripted
      headers: [{name: content-type, value: application/json}]
      body: '%s'
      timeout: 2s
      script:
        lua: |
          function make_request(response_headers, response_body, headers, payload)
            local location = response_headers["location"]
            if location then headers[":path"] = location end
            headers["x-length"] = tostring(#payload)
            return headers, payload
          end
          function validate_response(headers, payload)
            local status = headers[":status"]
            return status == "201" or status == "204" or status == "200"
          end
    - {name: create, extends: scripted, method: POST, path: /npcf-policyauthorization/v1/app-sessions,
       capture: [{name: session, header: location}]}
    - {name: update, extends: scripted, method: PATCH, path: "${session}"}
    - {name: delete, extends: scripted, method: DELETE, path: "${session}"}
  chains: [{name: session, target: target, steps: [{template: create}, {template: update}, {template: delete}]}]
  rates: [{name: load, closedLoop: {}, duration: %ds}]
`, url, chainBody(), seconds)
}

// languageManifest has what tests of real services use of the language.
func languageManifest(url string, seconds int) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: language}
spec:
  targets: [{name: target, url: %q, connections: 4, maxConcurrentStreams: 64}]
  variables:
    - {name: ue, range: {start: 0, end: 1000000000, width: 10}, order: Shuffled}
    - {name: trace, random: {hex: {length: 32}}, scope: Step}
    - {name: id, uuid: {}}
    - {name: now, timestamp: {format: RFC3339Milli}, scope: Step}
    - {name: user, csv: {text: "imsi,name\n001,Ada\n002,Grace\n003,Edith\n"}}
    - {name: number, counter: {width: 8}}
  templates:
    - name: common
      headers:
        - {name: content-type, value: application/json}
        - {name: x-trace, value: "00-${trace}-01"}
        - {name: x-user, value: "${urlEncode(user.name)}"}
      timeout: 2s
    - name: create
      extends: common
      method: POST
      path: /sessions
      body: '{"gpsi":"msisdn-${ue}","id":"${id}","at":"${now}","user":"${jsonEscape(user.name)}","number":"${number}"}'
      expect: {status: [201], checks: [{name: where, header: location, startsWith: /sessions/}]}
      capture: [{name: session, header: location}, {name: id_there, header: location, regex: "/([0-9a-f]+)$"}]
    - name: read
      extends: common
      path: ${session}?id=${id_there}
      expect: {checks: [{name: object, jsonPointer: "", startsWith: "{"}, {name: soon, responseTime: {}, lessThan: 1s}]}
      capture: [{name: whole, jsonPointer: ""}]
    - {name: delete, extends: common, method: DELETE, path: "${session}", expect: {status: [204]}}
  chains:
    - name: session
      target: target
      steps: [{template: create}, {template: read, when: [{value: "${id_there}", exists: true}]}, {template: delete, when: [{value: "${whole}", startsWith: "{"}]}]
  rates: [{name: load, closedLoop: {}, duration: %ds}]
`, url, seconds)
}

// notificationManifest has a subscription and its notification in each instance. A notification that is missing or
// fails its check fails the run above 0.1%.
func notificationManifest(l load, url string, seconds int) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: notifications}
spec:
  targets: [{name: target, url: %q, connections: %d, maxConcurrentStreams: %d}]
  variables: [{name: id, counter: {}}]
  listeners: [{name: events}]
  chains:
    - name: subscription
      target: target
      steps:
        - name: subscribe
          request:
            method: POST
            path: /subscriptions
            headers: [{name: content-type, value: application/json}]
            body: '{"callback":"${listener.events.url}/created/${id}"}'
            timeout: 2s
            expect: {status: [201]}
        - name: created
          await:
            listener: events
            match: {path: "/created/${id}"}
            timeout: 2s
            expect: {checks: [{name: event, jsonPointer: /event, equals: CREATED}]}
  rates: [{name: load, requestsPerSecond: %d, duration: %ds}]
  thresholds: [{name: received, metric: NotificationErrorRate, max: 0.1%%}]
`, url, l.connections, l.streams, l.perSecond, seconds)
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
  rates: [{name: load, closedLoop: {}, duration: %ds}]
  runner: {shards: %d}
`, strings.Join(urls, `", "`), connections, streams, seconds, workers)
}
