package main

import "fmt"

// akaRules are an AUSF whose subscribers have the keys and the RAND of test set 1 of TS 35.207. Each subscriber must
// ask once only, because the sequence number is always the same.
const akaRules = `apiVersion: h2surge.io/v1alpha1
kind: Target
rules:
  - name: authenticate
    match: {method: POST, path: /nausf-auth/v1/ue-authentications}
    responses:
      - status: 201
        headers:
          - {name: content-type, value: application/json}
          - {name: location, value: /nausf-auth/v1/ue-authentications/1}
        body: |
          {"authType": "5G_AKA", "5gAuthData": {"rand": "23553cbe9637a89d218ae64dae47bf35",
           "autn": "55f328b43577b9b94a9ffac354dfafb3", "hxresStar": "20a71900b01776bfd773e8c15a825446"},
           "_links": {"5g-aka": {"href": "http://ausf.example/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation"}}}
  - name: confirm
    match: {method: PUT, path: /nausf-auth/v1/ue-authentications/1/5g-aka-confirmation}
    responses:
      - headers: [{name: content-type, value: application/json}]
        body: '{"authResult": "AUTHENTICATION_SUCCESS", "supi": "imsi-001010000000007"}'
  - name: remove
    match: {method: DELETE, path: /nausf-auth/v1/ue-authentications/1/5g-aka-confirmation}
    responses: [{status: 204}]
`

// akaManifest is 5G AKA of a subscriber: with its USIM, or with a constant RES*.
func akaManifest(url string, seconds int, usim bool) string {
	expect, answer := "status: [201]", "f236a7417272bfb2d66d4d670733b527"
	if usim {
		expect, answer = expect+", usim: ue", "${ue.resStar}"
	}
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: aka}
spec:
  targets: [{name: target, url: %q, connections: 4, maxConcurrentStreams: 64}]
  variables:
    - name: ue
      subscribers:
        count: 1000000000
        aka: {k: {value: 465b5ce8b199b49faa5f0a2ee238a6bc}, opc: {value: cd63cb71954a9f4e48a5994e37a02baf}}
  templates:
    - {name: json, headers: [{name: content-type, value: application/json}], timeout: 2s}
    - name: authenticate
      extends: json
      method: POST
      path: /nausf-auth/v1/ue-authentications
      body: '{"supiOrSuci":"${ue.suci}","servingNetworkName":"${ue.servingNetwork}"}'
      expect: {%s}
      capture: [{name: authentication, header: location}]
    - name: confirm
      extends: json
      method: PUT
      path: ${authentication}/5g-aka-confirmation
      body: '{"resStar":"%s"}'
      expect: {status: [200]}
    - name: remove
      method: DELETE
      path: ${authentication}/5g-aka-confirmation
      timeout: 2s
      expect: {status: [204]}
  chains:
    - name: authentication
      target: target
      steps: [{template: authenticate}, {template: confirm}, {template: remove}]
  rates: [{name: load, closedLoop: {}, duration: %ds}]
`, url, expect, answer, seconds)
}

// akaRow compares a chain with a USIM with the same chain without.
func akaRow() row {
	with := func(usim bool, label string) side {
		l := chainLoad(0, "")
		l.manifest = func(urls []string, seconds int) string { return akaManifest(urls[0], seconds, usim) }
		return side{client: h2surge{}, load: l, label: label}
	}
	peer := with(false, "without the USIM")
	return row{
		name: "chain-aka", group: groupMarks,
		work:   "chain of 5G AKA: challenge, confirmation, removal; with the USIM and without",
		server: ruled("ausf.yaml"), ours: with(true, "with the USIM"), peer: &peer, goals: cpuRatio(1.15, 0),
	}
}

// ruled is a target whose rules are in a file of the lab.
func ruled(file string) server {
	return server{name: "h2surge target", start: func(b *lab, cpus []int) (*served, error) {
		return serve(2, func(s *served, ports []int) error {
			return s.addTarget(b, cpus, ports, "-f", b.Dir+"/"+file)
		})
	}}
}
