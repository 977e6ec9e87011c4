package main

import (
	"fmt"
	"strings"
)

// discoveryRules are an NRF that answers a discovery with instances, about 4 KiB.
var discoveryRules = `apiVersion: h2surge.io/v1alpha1
kind: Target
rules:
  - name: discover
    match: {method: GET, path: /nnrf-disc/v1/nf-instances}
    responses:
      - headers: [{name: content-type, value: application/json}]
        body: '` + discovery() + `'
`

// discovery is a SearchResult with eight NF profiles. The seventh is that of the UDM.
func discovery() string {
	const profile = `{"nfInstanceId":"6f7d1e9c-2f3a-41d4-a716-44665544000%d","nfType":%q,"nfStatus":"REGISTERED",` +
		`"plmnList":[{"mcc":"001","mnc":"01"}],"ipv4Addresses":["10.0.0.1"],"capacity":100,"load":7,` +
		`"nfServices":[{"serviceInstanceId":"1","serviceName":"nudm-sdm","scheme":"http","nfServiceStatus":"REGISTERED",` +
		`"versions":[{"apiVersionInUri":"v1","apiFullVersion":"1.0.0"}],` +
		`"ipEndPoints":[{"ipv4Address":"10.0.0.1","port":8000}],"supportedFeatures":"3f"}]}`
	var all []string
	for i, kind := range strings.Fields("AMF SMF PCF AUSF UDR NSSF UDM BSF") {
		all = append(all, fmt.Sprintf(profile, i, kind))
	}
	return `{"validityPeriod":3600,"nfInstances":[` + strings.Join(all, ",") + `]}`
}

func discoveryManifest(url string, seconds int, capture string) string {
	return fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: discovery}
spec:
  targets: [{name: target, url: %q, connections: 4, maxConcurrentStreams: 64}]
  chains:
    - name: discovery
      target: target
      steps:
        - name: discover
          request:
            path: /nnrf-disc/v1/nf-instances
            timeout: 2s
            expect: {status: [200]}
            capture: [{name: service, %s}]
  rates: [{name: load, closedLoop: {}, duration: %ds}]
`, url, capture, seconds)
}

// jsonPathRow compares a capture by a JSONPath with a filter with a capture of the same value by a JSON pointer.
func jsonPathRow() row {
	by := func(capture, label string) side {
		l := chainLoad(0, "")
		l.manifest = func(urls []string, seconds int) string { return discoveryManifest(urls[0], seconds, capture) }
		return side{client: h2surge{}, load: l, label: label}
	}
	peer := by("jsonPointer: /nfInstances/6/nfServices/0/serviceName", "JSON pointer")
	return row{
		name: "jsonpath", group: groupMarks,
		work:   "GET 4 KiB of an NRF and capture a value; by a JSONPath with a filter and by a JSON pointer",
		server: ruled("nrf.yaml"), peer: &peer,
		ours:  by(`jsonPath: "$.nfInstances[?@.nfType=='UDM'].nfServices[0].serviceName"`, "JSONPath"),
		goals: cpuRatio(1.25, 0),
	}
}
