package cli

import (
	"slices"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

const limitedManifest = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: limited}
spec:
  targets: [{name: pcf, url: "http://pcf.example:80", connections: 2}]
  templates:
    - {name: create, method: POST, path: /s, expect: {status: [201]}, capture: [{name: at, header: location}]}
    - {name: change, method: PUT, path: /none, expect: {status: [200]}}
  chains:
    - {name: session, target: pcf, steps: [{template: create}]}
    - {name: missing, target: pcf, steps: [{template: change}]}
  rates:
    - {name: low, duration: 500ms, requestsPerSecond: 200}
    - {name: high, duration: DURATION, requestsPerSecond: 400}
  thresholds:
`

// limits of the thresholds above; each second request fails with 404.
func limitedTest(duration string, thresholds ...string) string {
	return strings.Replace(limitedManifest, "DURATION", duration, 1) + "    - " + strings.Join(thresholds, "\n    - ") + "\n"
}

// TestEndToEndThresholds: thresholds on parts of the requests, with the exact counts of stages.
func TestEndToEndThresholds(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{})
	r := run(t, limitedTest("500ms",
		"{name: low, metric: Responses, stage: low, min: 100}",
		"{name: low-too, metric: Responses, stage: low, max: 100}",
		"{name: high, metric: Responses, stage: high, statusClass: 4xx, max: 50%}",
		"{name: missing, metric: FailedChecks, chain: missing, max: 149}",
		"{name: created, metric: ErrorRate, step: session/create, max: 0%}",
		"{name: slow, metric: ServiceTime, percentile: p50, statusClass: 2xx, target: pcf, max: 10s}",
		"{name: rate, metric: Rate, stage: high, max: 300}",
		"{name: per-second, metric: Succeeded, stage: high, max: 201/s}",
		"{name: windows, metric: TimedOut, window: 2s, max: 0}",
		"{name: connect, metric: Connect, percentile: p100, max: 10s}",
	), 2, "-f", "-", "--target-url", "pcf=http://"+peer.Addr().String())
	var got []string
	for i := range r.Verdict.Thresholds {
		if c := &r.Verdict.Thresholds[i]; c.Name == "slow" || c.Name == "connect" {
			if !c.Passed {
				t.Error(c.String())
			}
		} else if text := c.String(); c.Name == "rate" || c.Name == "per-second" {
			got = append(got, text[:strings.IndexAny(text, "0123456789")]) // the rate is measured
		} else {
			got = append(got, text)
		}
	}
	want := []string{
		"low: Responses in stage low 100 >= 100",
		"low-too: Responses in stage low 100 <= 100",
		"high: Responses with status 4xx in stage high 50% <= 50%",
		"missing: FailedChecks of chain missing 150 > 149",
		"created: ErrorRate of step session/create 0% <= 0%",
		"rate: Rate in stage high ",
		"per-second: Succeeded in stage high ",
		"windows: TimedOut in a window of 2s 0 <= 0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Verdict.Outcome != rv.OutcomeFailed {
		t.Errorf("verdict %+v", r.Verdict)
	}
}

// TestEndToEndPhases: thresholds on each phase of a target observe the longest time of the report. The target needs no name resolution and
// no TLS, so nothing was measured of them.
func TestEndToEndPhases(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{})
	r := run(t, limitedTest("300ms",
		"{name: name-resolution, metric: NameResolution, percentile: p100, max: 10000000us}",
		"{name: tls-handshake, metric: TLSHandshake, percentile: p100, max: 10000000us, target: pcf}",
		"{name: tcp-connect, metric: TCPConnect, percentile: p100, max: 10000000us, target: pcf}",
		"{name: settings, metric: Settings, percentile: p100, max: 10000000us, target: pcf}",
		"{name: connect, metric: Connect, percentile: p100, max: 10000000us, target: pcf}",
		"{name: blocked, metric: Blocked, percentile: p100, max: 10000000us, target: pcf}",
		"{name: body, metric: Body, percentile: p100, max: 10000000us}",
		"{name: body-in-windows, metric: Body, percentile: p100, max: 10000000us, window: 1s, target: pcf}",
	), 2, "-f", "-", "--target-url", "pcf=http://"+peer.Addr().String())
	times := &r.Targets[0]
	want := []string{rv.ObservedNone, rv.ObservedNone}
	for _, phase := range []*rv.Times{&times.TCPConnect, &times.Settings, &times.Connect, &times.Blocked, &times.Body, &times.Body} {
		if phase.Count == 0 {
			t.Errorf("a phase has no times: %+v", times)
		}
		want = append(want, build.FormatTime(phase.Max))
	}
	var got []string
	for i := range r.Verdict.Thresholds {
		c := &r.Verdict.Thresholds[i]
		got = append(got, c.Observed)
		if measured := c.Observed != rv.ObservedNone; c.Passed != measured {
			t.Error(c.String())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("observed %q, want %q", got, want)
	}
}

// TestEndToEndAbortOnFail: the test ends when a threshold fails, and not before its grace time.
func TestEndToEndAbortOnFail(t *testing.T) {
	waits(t)
	for name, threshold := range map[string]string{
		"run":    "{name: clean, metric: ErrorRate, max: 10%, abortOnFail: true, abortAfter: 1s}",
		"stage":  "{name: clean, metric: ErrorRate, max: 10%, stage: high, abortOnFail: true, abortAfter: 0s}",
		"window": "{name: clean, metric: ErrorRate, max: 10%, window: 1s, abortOnFail: true, abortAfter: 0s}",
	} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			peer := serve(t, mock.Options{})
			r := run(t, limitedTest("20s", threshold), 2, "-f", "-", "--target-url", "pcf=http://"+peer.Addr().String())
			if r.Verdict.Outcome != rv.OutcomeFailed || r.Verdict.Reason != verdict.ReasonThresholdsFailed {
				t.Errorf("verdict %+v", r.Verdict)
			}
			if want := "threshold clean ended the test after "; !strings.Contains(r.Verdict.Message, want) {
				t.Errorf("message %q, want ...%s...", r.Verdict.Message, want)
			}
			if want := "threshold clean failed after "; !strings.HasPrefix(r.Stopped, want) {
				t.Errorf("stopped: %q, want %s...", r.Stopped, want)
			}
			if r.Requests.Sent == 0 || r.Requests.InFlightAtEnd != 0 {
				t.Errorf("requests %+v", r.Requests)
			}
		})
	}
}
