package main

import (
	"fmt"
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
		head: []string{"work", "server", "peer", "CPU, h2surge", "CPU, peer", "ratio", "CPU, floor", "h2surge / floor",
			"mark", "aim", "verdict",
			"requests/s, h2surge", "requests/s, peer"},
		lines: markLines,
	},
	{
		of: groupChoice, title: "Batch and Spread",
		intro: "`connectionChoice` with a server of two threads, which share the two CPUs with the client. Times are response times: they begin when a request is scheduled.",
		head: []string{"id", "work", "choice", "requests/s", "mean time", "p50", "p99", "CPU us per request", "CPU ratio",
			"remarks"},
		lines: timed(meanTime, p50Time, p99Time),
	},
	{
		of: groupScaling, title: "Two workers",
		intro: "GET over h2c, 4 connections of 64 streams per worker: two workers with two servers, compared with one worker. With fewer than four CPUs, a worker and a server share a CPU, on both sides.",
		head: []string{"compared", "requests/s, two", "requests/s, one", "ratio", "CPU us per request, two",
			"CPU us per request, one", "ratio",
			"mark", "verdict"},
		lines: scalingLines,
	},
	{
		of: groupStreams, title: "HTTP/1.1 and h2c at m = 1, 10, 100",
		intro: "nginx, 200 connections, a page of 612 bytes. Time is from sending to the end of the response. In a closed loop, most of it is waiting in the queue of the server.",
		head: []string{"id", "work", "client", "requests/s", "mean time", "p50", "p99", "max", "CPU us per request",
			"CPU ratio",
			"remarks"},
		lines: timed(meanTime, p50Time, p99Time, maxTime),
	},
	{
		of: groupGateway, title: "nginx, direct and through a gateway",
		intro: "What `ab -c 100` without keep-alive shows: one connection per request, for a page of 76 bytes. Time includes connecting. ab reports whole milliseconds. Connect and waiting (sent to first byte) are means.",
		head: []string{"id", "work", "client", "requests/s", "connect", "waiting", "mean time", "p50", "p99", "max",
			"CPU us per request", "CPU ratio", "remarks"},
		lines: timed(connectTime, waitingTime, meanTime, p50Time, p99Time, maxTime),
	},
	{
		of: groupGo, title: "Go's own client",
		intro: "One request after another unless the row says otherwise. \"As published\" neither reads nor closes the responses, so HTTP/1.1 opens a connection for each request (here at most " + harness.Thousands(unreadBound) + ", because of the limit on descriptors). h2surge reads the responses. B/op and allocs/op of h2surge cannot be measured from outside.",
		head: []string{"id", "work", "client", "ns/op", "B/op", "allocs/op", "connections", "CPU us per request", "CPU ratio",
			"remarks"},
		lines: goLines,
	},
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
	floor := r.floors.of(cpu).String()
	if r.noFloor != "" {
		floor = r.noFloor
	}
	verdict := r.verdict()
	if r.suite != "" {
		verdict += "; " + r.suite
	}
	return [][]string{{r.row.work, r.row.server.name, peer, r.ours.of(cpu).String(), r.peers.of(cpu).String(),
		r.ours.over(r.peers, cpu).String(),
		floor, r.ours.over(r.floors, cpu).String(), mark, aim, verdict, r.ours.of(rate).String(), r.peers.of(rate).String()}}
}

func scalingLines(r result) [][]string {
	return [][]string{{r.row.work, r.ours.of(rate).String(), r.peers.of(rate).String(),
		r.ours.over(r.peers, rate).String(),
		r.ours.of(cpu).String(), r.peers.of(cpu).String(), r.ours.over(r.peers, cpu).String(),
		harness.Figure(r.row.goals[0].mark), r.verdict()}}
}

// sides are the lines of a table that has one for each client, with columns of its own between name and CPU. The first
// line has the ratio and the remarks. It is the only one of a row that is not measured.
func (r result) sides(columns func(side runs) []string) [][]string {
	line := func(name string, side runs, ratio, remarks string) []string {
		return append(append([]string{r.row.id, r.row.work, name}, columns(side)...), side.of(cpu).String(), ratio, remarks)
	}
	lines := [][]string{line(r.row.ours.name(), r.ours, r.ours.over(r.peers, cpu).String(), r.verdict())}
	if r.state == stateMeasured {
		lines = append(lines, line(r.row.peer.name(), r.peers, harness.None, harness.None))
	}
	return lines
}

// timed are the lines of a table with requests per second and times.
func timed(columns ...func(times) time.Duration) func(r result) [][]string {
	return func(r result) [][]string {
		return r.sides(func(side runs) []string {
			cells := []string{side.of(rate).String()}
			for _, c := range columns {
				cells = append(cells, side.median(c))
			}
			return cells
		})
	}
}

func meanTime(t times) time.Duration    { return t.mean }
func p50Time(t times) time.Duration     { return t.p50 }
func p99Time(t times) time.Duration     { return t.p99 }
func maxTime(t times) time.Duration     { return t.max }
func connectTime(t times) time.Duration { return t.connect }
func waitingTime(t times) time.Duration { return t.waiting }

// median writes that of a time.
func (r runs) median(of func(times) time.Duration) string {
	if v := r.of(func(m measured) float64 { return of(m.times).Seconds() * 1e3 }).median; v > 0 {
		return harness.Figure(v) + " ms"
	}
	return harness.None
}

func goLines(r result) [][]string {
	return r.sides(func(side runs) []string {
		cells := []string{harness.None, harness.None, harness.None, harness.None}
		if len(side) > 0 {
			cells[0] = harness.Figure(side.of(func(m measured) float64 { return 1e9 / m.perSecond }).median)
			cells[3] = fmt.Sprintf("%.0f", side.of(func(m measured) float64 { return float64(m.connections) }).median)
		}
		if allocs := side.of(func(m measured) float64 { return m.perOp.allocs }).median; allocs > 0 {
			cells[1] = harness.Figure(side.of(func(m measured) float64 { return m.perOp.bytes }).median)
			cells[2] = fmt.Sprintf("%.0f", allocs)
		}
		return cells
	})
}
