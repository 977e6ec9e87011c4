package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/test/harness"
)

// h2surge is the program under test.
type h2surge struct{}

func (h2surge) name() string { return "h2surge" }
func (h2surge) needs() tool  { return tool{} }

func (h2surge) command(b *lab, s *served, l load, seconds int) (harness.Command, error) {
	c := harness.Command{Argv: []string{b.H2surge, "run", "-q", "-o", "json"}}
	if l.manifest != nil {
		c.Argv = append(c.Argv, "-f", "-")
		c.Stdin = l.manifest(s.urls(l.protocol), seconds)
		return c, nil
	}
	c.Argv = append(c.Argv, "-t", strconv.Itoa(max(1, l.workers)), "-c", strconv.Itoa(l.connections),
		"-m", strconv.Itoa(max(1, l.streams)), "-D", strconv.Itoa(seconds)+"s")
	switch l.protocol {
	case http1:
		c.Argv = append(c.Argv, "--h1")
	case h3:
		c.Argv = append(c.Argv, "--h3")
		c.Env = append(c.Env, "SSL_CERT_FILE="+b.Dir+"/cert.pem")
	case h2:
		c.Env = append(c.Env, "SSL_CERT_FILE="+b.Dir+"/cert.pem") // it verifies certificates
	}
	if l.noKeepAlive {
		c.Argv = append(c.Argv, "--no-keepalive")
	}
	if l.perSecond > 0 {
		c.Argv = append(c.Argv, "--rps", strconv.Itoa(l.perSecond))
	}
	if l.choice != "" {
		c.Argv = append(c.Argv, "--connection-choice", string(l.choice))
	}
	if l.padding > 0 {
		c.Argv = append(c.Argv, "-H", "x-pad: "+strings.Repeat("x", l.padding))
	}
	c.Argv = append(c.Argv, s.url(l))
	return c, nil
}

func (c h2surge) parse(f harness.Finished) (measured, error) {
	var r rv.Report
	err := json.Unmarshal([]byte(f.Stdout), &r)
	switch {
	case f.Code != verdict.ExitPassed && f.Code != verdict.ExitInconclusive:
		f.Stdout = r.Verdict.Message
		return measured{}, exited(c, f)
	case err != nil:
		return measured{}, fmt.Errorf("h2surge: its report: %w", err)
	}
	// A percentile among requests without a response is not a time, so the benchmark shows those of successful requests.
	shown := r.ResponseTime
	if r.SuccessfulResponseTime.Count > 0 { // a build before it has none
		shown = r.SuccessfulResponseTime
	}
	m := measured{
		requests: r.Requests.Done, unanswered: r.Requests.Sent - r.Requests.Done,
		rejected:  r.Requests.Sent - r.Requests.Succeeded,
		perSecond: r.Rate.Achieved,
		times: times{
			mean: microseconds(shown.Mean), p50: microseconds(shown.P50),
			p99: microseconds(shown.P99), max: microseconds(shown.Max),
			connect: microseconds(r.Connect.Mean), waiting: microseconds(r.TimeToFirstByte.Mean),
		},
		connections: r.Generator.Connects + r.Generator.Reconnects,
	}
	if f.Code == verdict.ExitInconclusive {
		m.remark = "inconclusive: " + r.Verdict.Message
	}
	return m, nil
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
