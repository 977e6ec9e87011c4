package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/h2surge/h2surge/test/harness"
)

// table is one table of the page. A row of the harness gives one or more lines of it.
type table struct {
	of    group
	title string
	intro string
	head  []string
	lines func(r result) [][]string
}

var tables = []table{
	{
		of: groupMarks, title: "Against the peers",
		intro: "CPU is microseconds of client CPU per request. The ratio is h2surge's value divided by the peer's, round by round. The floor is the client in C; *h2surge / floor* is h2surge's value divided by the floor's.",
		head: []string{"work", "server", "peer", "CPU, h2surge", "CPU, peer", "ratio", "CPU, floor", "h2surge / floor", "mark", "aim", "verdict",
			"requests/s, h2surge", "requests/s, peer"},
		lines: markLines,
	},
	{
		of: groupChoice, title: "Batch and Spread",
		intro: "`connectionChoice` with a server of two threads, which share the two CPUs with the client. Times are response times: they begin when a request is scheduled. At most 3 rounds.",
		head:  []string{"id", "work", "choice", "requests/s", "mean time", "p50", "p99", "CPU us per request", "CPU ratio", "remarks"},
		lines: func(r result) [][]string { return r.timed(10, meanTime, p50Time, p99Time) },
	},
	{
		of: groupScaling, title: "Two workers",
		intro: "GET over h2c, 4 connections of 64 streams per worker: two workers with two servers, compared with one worker. With fewer than four CPUs, a worker and a server share a CPU, on both sides.",
		head: []string{"compared", "requests/s, two", "requests/s, one", "ratio", "CPU us per request, two", "CPU us per request, one", "ratio",
			"mark", "verdict"},
		lines: scalingLines,
	},
	{
		of: groupStreams, title: "HTTP/1.1 and h2c at m = 1, 10, 100",
		intro: "nginx, 200 connections, a page of 612 bytes. Time is from sending to the end of the response. In a closed loop, most of it is waiting in the queue of the server.",
		head: []string{"id", "work", "client", "requests/s", "mean time", "p50", "p99", "max", "CPU us per request", "CPU ratio",
			"remarks"},
		lines: timeLines,
	},
	{
		of: groupGateway, title: "nginx, direct and through a gateway",
		intro: "What `ab -c 100` without keep-alive shows: one connection per request, for a page of 76 bytes. Time includes connecting. ab reports whole milliseconds. Connect and waiting (sent to first byte) are means.",
		head: []string{"id", "work", "client", "requests/s", "connect", "waiting", "mean time", "p50", "p99", "max",
			"CPU us per request", "CPU ratio", "remarks"},
		lines: gatewayLines,
	},
	{
		of: groupGo, title: "Go's own client",
		intro: "One request after another unless the row says otherwise. \"As published\" neither reads nor closes the responses, so HTTP/1.1 opens a connection for each request (here at most " + harness.Thousands(unreadBound) + ", because of the limit on descriptors). h2surge reads the responses. B/op and allocs/op of h2surge cannot be measured from outside.",
		head: []string{"id", "work", "client", "ns/op", "B/op", "allocs/op", "connections", "CPU us per request", "CPU ratio",
			"remarks"},
		lines: goLines,
	},
}

// unmeasured is a line that says why there are no figures.
func unmeasured(r result, lead []string, width int) [][]string {
	line := slices.Clone(lead)
	for len(line) < width-1 {
		line = append(line, harness.None)
	}
	return [][]string{append(line, r.verdict())}
}

func markLines(r result) [][]string {
	peer, mark, aim := harness.None, harness.None, harness.None
	if r.row.peer != nil {
		peer = r.row.peer.name()
	}
	if len(r.row.goals) > 0 {
		g := r.row.goals[0]
		mark = harness.Figure(g.mark) + g.unit
		if g.aim > 0 {
			aim = harness.Figure(g.aim) + g.unit
		}
	}
	floor := r.floorCPU().String()
	if r.noFloor != "" {
		floor = r.noFloor
	}
	verdict := r.verdict()
	if r.suite != "" {
		verdict += "; " + r.suite
	}
	return [][]string{{r.row.work, r.row.server.name, peer, r.ourCPU().String(), r.peerCPU().String(), r.cpuRatio().String(),
		floor, r.floorRatio().String(), mark, aim, verdict, r.ourRate().String(), r.peerRate().String()}}
}

func scalingLines(r result) [][]string {
	return [][]string{{r.row.work, r.ourRate().String(), r.peerRate().String(), r.rateRatio().String(),
		r.ourCPU().String(), r.peerCPU().String(), r.cpuRatio().String(),
		harness.Figure(r.row.goals[0].mark), r.verdict()}}
}

// sides are the lines of a table that has one for each client; the first has the ratio and the
// remarks.
func (r result) sides(line func(name string, rounds []measured, cpu, ratio, remarks string) []string) [][]string {
	return [][]string{
		line(r.row.ours.name(), r.ours, r.ourCPU().String(), r.cpuRatio().String(), r.verdict()),
		line(r.row.peer.name(), r.peers, r.peerCPU().String(), harness.None, harness.None),
	}
}

func timeLines(r result) [][]string { return r.timed(11, meanTime, p50Time, p99Time, maxTime) }

func gatewayLines(r result) [][]string {
	return r.timed(13, connectTime, waitingTime, meanTime, p50Time, p99Time, maxTime)
}

func meanTime(t times) time.Duration    { return t.mean }
func p50Time(t times) time.Duration     { return t.p50 }
func p99Time(t times) time.Duration     { return t.p99 }
func maxTime(t times) time.Duration     { return t.max }
func connectTime(t times) time.Duration { return t.connect }
func waitingTime(t times) time.Duration { return t.waiting }

// timed are lines of a table of so many columns, some of which are times.
func (r result) timed(width int, columns ...func(times) time.Duration) [][]string {
	if r.state == stateSkipped || r.state == stateFailed {
		return unmeasured(r, []string{r.row.id, r.row.work}, width)
	}
	return r.sides(func(name string, rounds []measured, cpu, ratio, remarks string) []string {
		line := []string{r.row.id, r.row.work, name, spreadOf(each(rounds, rate)).String()}
		for _, of := range columns {
			line = append(line, milliseconds(median(rounds, func(m measured) float64 { return of(m.times).Seconds() * 1e3 })))
		}
		return append(line, cpu, ratio, remarks)
	})
}

func milliseconds(v float64) string {
	if v == 0 {
		return harness.None
	}
	return harness.Figure(v) + " ms"
}

func goLines(r result) [][]string {
	if r.state == stateSkipped || r.state == stateFailed {
		return unmeasured(r, []string{r.row.id, r.row.work}, 10)
	}
	return r.sides(func(name string, rounds []measured, cpu, ratio, remarks string) []string {
		median := func(of func(m measured) float64) float64 { return median(rounds, of) }
		perOp, opened := harness.None, harness.None
		if len(rounds) > 0 {
			perOp = harness.Figure(median(func(m measured) float64 { return 1e9 / m.perSecond }))
			opened = fmt.Sprintf("%.0f", median(func(m measured) float64 { return float64(m.connections) }))
		}
		bytes, allocs := harness.None, harness.None
		if v := median(func(m measured) float64 { return m.perOp.allocs }); v > 0 {
			bytes, allocs = harness.Figure(median(func(m measured) float64 { return m.perOp.bytes })), fmt.Sprintf("%.0f", v)
		}
		return []string{r.row.id, r.row.work, name, perOp, bytes, allocs, opened, cpu, ratio, remarks}
	})
}
