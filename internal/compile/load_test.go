package compile

import (
	"strings"
	"testing"
)

func TestSmoke(t *testing.T) {
	m, err := Load(strings.NewReader(`
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: pcf-app-sessions}
spec:
  targets:
    - name: pcf
      url: http://pcf.core.svc:8080       # or urls: [...], a load-share group; exactly one of the two
      protocol: h2c                        # auto | http1 | h2 | h2c; auto: https by ALPN, http as h2c
      connections: 64                      # over all shards, split exactly
      maxConcurrentStreams: 128
  variables:
    - name: ue
      range: {start: 0, end: 1000000, width: 10}   # end exclusive, wraps; shards get disjoint slices
  templates:
    - name: create
      method: POST
      path: /npcf-policyauthorization/v1/app-sessions
      headers: [{name: content-type, value: application/json}]
      body: '{"ascReqData":{"gpsi":"msisdn-${ue}"}}'
      timeout: 2s
      expect: {status: ["201"]}
      capture: [{name: session, header: location}]
    - {name: update, method: PATCH, path: "${session}", body: '{"ue":"${ue}"}', expect: {status: ["200", "204"]}}
    - {name: delete, method: DELETE, path: "${session}", expect: {status: ["204"]}}
  chains:
    - name: app-session
      target: pcf
      weight: 1
      steps: [{template: create}, {template: update}, {template: delete}]
  rates:
    - {name: warm, duration: 10s, requestsPerSecond: 10000, warmUp: true}
    - {name: hold, duration: 60s, requestsPerSecond: 60000}
  thresholds:
    - {name: fast, metric: responseTime, quantile: "0.99", max: 20ms}
    - {name: clean, metric: errorRatio, max: "0.001"}
  runner: {shards: 2, cpusPerShard: 2}     # plus template: any part of a PodTemplateSpec
`))
	if err != nil {
		t.Fatal(err)
	}
	p, w, errs := Compile(m.Name(), &m.LoadTest.Spec)
	t.Log(p, w, ErrorLines(errs))
	if p == nil {
		t.Fatal()
	}
}
