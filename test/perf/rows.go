package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/harness"
)

// rows are all rows in the order of the page.
func rows() []row {
	return slices.Concat(markRows(), callRows(), choiceRows(), scalingRows(), streamRows(), gatewayRows(), goRows())
}

// against puts h2surge and a peer to the same work.
func against(peer client, l load) (ours side, theirs *side) {
	return side{client: h2surge{}, load: l}, &side{client: peer, load: l}
}

// markRows are the works whose figures the project is held to.
func markRows() []row {
	return []row{
		compare("h2c-m100", "GET h2c, 10 connections, 100 streams", nghttpdCleartext, h2load{},
			load{protocol: h2c, connections: 10, streams: 100, path: "/"}, cpuRatio(0.60, 0.45)).withFloor(2.5, 2.0),
		compare("tls-m100", "the same over TLS 1.3", nghttpdTLS, h2load{},
			load{protocol: h2, connections: 10, streams: 100, path: "/"}, cpuRatio(0.60, 0.45)).withFloor(2.3, 2.0),
		compare("h2c-m100-nginx", "the same as the first", nginxDirect, h2load{},
			load{protocol: h2c, connections: 10, streams: 100, path: "/"}, cpuRatio(0.85, 0.60)),
		compare("h2c-m1", "GET h2c, 10 connections, 1 stream", nghttpdCleartext, h2load{},
			load{protocol: h2c, connections: 10, streams: 1, path: "/"}, cpuRatio(0.85, 0.75)).withFloor(1.15, 1.05),
		compare("http1", "GET HTTP/1.1, 100 connections", nginxDirect, wrk{},
			load{protocol: http1, connections: 100, path: "/"}, cpuRatio(1.00, 0.90)).withFloor(1.05, 1.0),
		compare("http1-no-keep-alive", "GET HTTP/1.1, 100 connections at a time, one a request", nginxDirect, ab{},
			load{protocol: http1, connections: 100, path: "/", noKeepAlive: true}, cpuRatio(0.92, 0.88)).withFloor(1.15, 1.08),
		compare("h3-m64", "GET HTTP/3, 1 connection, 64 streams", goHTTP, goClient{http3: true},
			load{protocol: h3, connections: 1, streams: 64, path: "/"}, cpuRatio(0.80, 0.60)),
		chainRow("chain", "chain POST 300 B, PATCH 300 B, DELETE; 4 connections, 64 streams", chainLoad(0, ""),
			cpuMicros(0.60, 0.35),
			goal{what: "requests/s", mark: 1e6, higher: true, of: func(r result) spread { return r.ours.of(rate) }}),
		chainRow("chain-60k", "the same chain at a fixed 60 000/s; Spread",
			chainLoad(60_000, v1alpha1.ConnectionChoiceSpread),
			cpuMicros(2.0, 1.2),
			goal{what: "p99 in ms", mark: 1, of: func(r result) spread { return r.ours.of(p99ms) }}),
		chainRow("chain-60k-batch", "the same; Batch", chainLoad(60_000, v1alpha1.ConnectionChoiceBatch), cpuMicros(1.3, 0)),
		faultyRow("faults-60k", 60_000, v1alpha1.ConnectionChoiceSpread).withFloor(1.6, 1.3),
		faultyRow("faults-60k-batch", 60_000, v1alpha1.ConnectionChoiceBatch, cpuMicros(3.0, 0)),
		faultyRow("faults-120k", 120_000, v1alpha1.ConnectionChoiceSpread).withFloor(1.6, 1.3),
		faultyRow("faults-120k-batch", 120_000, v1alpha1.ConnectionChoiceBatch, cpuMicros(3.0, 0)),
		// 6.8 us is what h2loadrunner 2.1.7 with LuaJIT needs for this work on this kind of machine.
		languageRow("chain-lua", "the same chain with Lua's make_request and validate_response in every step", luaManifest,
			cpuMicros(6.8, 4)),
		languageRow("chain-language", "the same chain with six variables, functions, JSON pointers and checks in every step",
			languageManifest, cpuMicros(2.0, 1.0)),
		akaRow(),
		jsonPathRow(),
		notificationRow("notifications-50k", 50_000, cpuMicros(10, 6)),
		observedRow(),
	}
}

// observedRow compares a run that reads 16 observations each second with the same run without.
func observedRow() row {
	with := func(observations int, label string) side {
		l := chainLoad(60_000, v1alpha1.ConnectionChoiceSpread)
		s := side{client: h2surge{}, load: l, label: label}
		s.load.manifest = func(urls []string, seconds int) string {
			return observedManifest(chainManifest(l, urls[0], "requestsPerSecond: 60000", seconds), observations)
		}
		return s
	}
	without := with(0, "without observations")
	return row{
		name: "observed-60k", group: groupMarks, work: "the chain at a fixed 60 000/s with 16 observations, read each second",
		server: target, ours: with(16, ""), peer: &without, rounds: 3,
		goals: append(cpuRatio(1.05, 0), goal{what: "p99 ratio", mark: 1.25,
			of: func(r result) spread { return r.ours.over(r.peers, p99ms) }}),
	}
}

// notificationRow has a notification for each request.
func notificationRow(name string, perSecond int, goals ...goal) row {
	l := load{protocol: h2c, connections: 4, streams: 64, perSecond: perSecond}
	ours := side{client: h2surge{}, load: l}
	ours.load.manifest = func(urls []string, seconds int) string { return notificationManifest(l, urls[0], seconds) }
	work := fmt.Sprintf("POST a subscription and await its notification, at a fixed %s/s; CPU is that of both together",
		harness.Thousands(int64(perSecond)))
	return row{name: name, group: groupMarks, work: work, server: notifying, ours: ours, goals: goals, rounds: 3}
}

func compare(name, work string, on server, peer client, l load, goals []goal) row {
	ours, theirs := against(peer, l)
	return row{name: name, group: groupMarks, work: work, server: on, ours: ours, peer: theirs, goals: goals}
}

// withFloor adds the floor to a row. In place of a chain, the floor sends GET.
func (r row) withFloor(mark, aim float64) row {
	r.floor = &side{client: floor{}, load: r.ours.load}
	r.floor.load.path, r.floor.load.manifest = "/", nil
	r.goals = append(r.goals, toFloor(mark, aim))
	return r
}

// chainLoad is the chain at a fixed rate, or in a closed loop.
func chainLoad(perSecond int, choice v1alpha1.ConnectionChoice) load {
	return load{protocol: h2c, connections: 4, streams: 64, perSecond: perSecond, choice: choice}
}

func chainRow(name, work string, l load, goals ...goal) row {
	mode := "closedLoop: {}"
	if l.perSecond > 0 {
		mode = "requestsPerSecond: " + strconv.Itoa(l.perSecond)
	}
	ours := side{client: h2surge{}, load: l}
	ours.load.manifest = func(urls []string, seconds int) string { return chainManifest(l, urls[0], mode, seconds) }
	return row{name: name, group: groupMarks, work: work, server: target, ours: ours, goals: goals}
}

// faultyRow is the chain with the faults of a real service.
func faultyRow(name string, perSecond int, choice v1alpha1.ConnectionChoice, goals ...goal) row {
	l := chainLoad(perSecond, choice)
	l.connections, l.streams, l.failing = 64, 256, failing
	work := fmt.Sprintf("the same chain at a fixed %s/s over 64 connections of 256 streams, 3%% of the requests unanswered, 7%% answered with 404; %s",
		harness.Thousands(int64(perSecond)), choice)
	r := chainRow(name, work, l, goals...)
	r.server, r.rounds = faultyTarget, 3
	return r
}

// languageRow is the chain with more of the language in every step.
func languageRow(name, work string, manifest func(url string, seconds int) string, goals ...goal) row {
	r := chainRow(name, work, chainLoad(0, ""), goals...)
	r.ours.load.manifest = func(urls []string, seconds int) string { return manifest(urls[0], seconds) }
	return r
}

// choiceRows compare Batch with Spread on a server with two threads.
func choiceRows() []row {
	l := load{protocol: h2c, connections: 16, streams: 100, path: "/", perSecond: 20_000,
		choice: v1alpha1.ConnectionChoiceBatch}
	batch := side{client: h2surge{}, load: l, label: "Batch"}
	l.choice = v1alpha1.ConnectionChoiceSpread
	spread := side{client: h2surge{}, load: l, label: "Spread"}
	return []row{{
		name: "choice", group: groupChoice, work: "GET h2c at a fixed 20 000/s, 16 connections", server: goTwoThreads,
		serverCPUs: func(b *lab) []int { return b.CPUs }, ours: batch, peer: &spread,
	}}
}

// scalingRows put two workers and two servers beside one worker: in requests a second with one
// server for the one, so that all is doubled; in CPU with the same two servers, so that each
// worker has the same mix of near and far servers. Where two workers and two servers do not find
// four CPUs, a worker and a server share one, on both sides alike.
func scalingRows() []row {
	const connections, streams = 4, 64 // of a worker
	side := func(workers, servers int) side {
		l := load{protocol: h2c, connections: workers * connections, streams: streams, workers: workers}
		l.manifest = func(urls []string, seconds int) string {
			return getManifest(urls[:servers], workers, l.connections, streams, seconds)
		}
		label := [...]string{"", "one worker", "two workers"}[workers]
		return side{client: h2surge{}, load: l, label: label, cpus: func(b *lab) []int { return b.pair(1)[:workers] }}
	}
	half, one, two := side(1, 1), side(1, 2), side(2, 2)
	r := row{group: groupScaling, server: targets, serverCPUs: func(b *lab) []int { return b.pair(0) }, ours: two}
	both, each := r, r
	both.name, both.work, both.peer = "two-workers-rate", "requests/s; one worker has one server", &half
	both.goals = []goal{{what: "requests/s of two over one", mark: 1.9, higher: true, cpus: 4,
		of: func(r result) spread { return r.ours.over(r.peers, rate) }}}
	each.name, each.work, each.peer = "two-workers-cpu", "CPU per request; one worker has both servers", &one
	each.goals = cpuRatio(1/0.95, 0) // 1.9 times as much work of the same CPU
	return []row{both, each}
}

// streamRows are S14 to S17 of the published workloads, for a fixed time in place of 100 000
// requests, which take a fraction of a second.
func streamRows() []row {
	var all []row
	for _, w := range []struct {
		id      string
		p       protocol
		streams int
	}{{"S14", http1, 0}, {"S15", h2c, 1}, {"S16", h2c, 10}, {"S17", h2c, 100}} {
		l := load{protocol: w.p, connections: 200, streams: w.streams, path: "/612.html"}
		work := "GET HTTP/1.1, 200 connections"
		if w.p == h2c {
			work = fmt.Sprintf("GET h2c, 200 connections, m = %d", w.streams)
		}
		ours, theirs := against(h2load{}, l)
		all = append(all, row{name: w.id, group: groupStreams, id: w.id, work: work, server: nginxDirect, ours: ours,
			peer: theirs})
	}
	return all
}

// gatewayRows are S9 and S10 of the published workloads.
func gatewayRows() []row {
	l := load{protocol: http1, connections: 100, path: "/test.html", noKeepAlive: true}
	ours, theirs := against(ab{}, l)
	return []row{
		{name: "S9", group: groupGateway, id: "S9", work: "direct", server: nginxDirect, ours: ours, peer: theirs},
		{name: "S10", group: groupGateway, id: "S10", work: "through a gateway", server: nginxGateway, ours: ours,
			peer: theirs},
	}
}

// unreadBound is how many connections the published HTTP/1.1 work may leave open: client and
// server each need a descriptor for one. That work ran until there were none left.
const unreadBound = 2000

// goRows are S4 to S8 of the published workloads: as published, corrected, in parallel, and over
// sizes. Ours do the same work, serial where Go's is, and read all responses.
func goRows() []row {
	var all []row
	for _, w := range []struct {
		id    string
		p     protocol
		procs int
	}{{"S4", http1, 1}, {"S5", h2, 1}, {"S6", http1, 4}, {"S7", h2, 4}} {
		all = append(all, goRow(w.id+"-published", w.id, "serial, as published", w.p, goSizes{procs: w.procs, unread: true}))
		all = append(all, goRow(w.id+"-corrected", w.id, "serial, corrected", w.p, goSizes{procs: w.procs}))
	}
	for _, p := range []protocol{http1, h2} {
		all = append(all, goRow("go-parallel-"+p.short(), "", "64 requests in flight", p, goSizes{procs: 1, parallel: 64}))
	}
	for _, w := range []goSizes{{body: 1 << 10}, {body: 64 << 10}, {header: 1 << 10}, {header: 8 << 10}} {
		for _, p := range []protocol{http1, h2} {
			w.procs = 1
			what, n := "body", w.body
			if w.header > 0 {
				what, n = "header", w.header
			}
			name := fmt.Sprintf("go-%s-%dk-%s", what, n>>10, p.short())
			all = append(all, goRow(name, "", fmt.Sprintf("serial, %s of %d KiB", what, n>>10), p, w))
		}
	}
	return all
}

// goSizes is what the rows of Go's client differ in.
type goSizes struct {
	procs    int
	unread   bool
	parallel int // requests in flight; 0: one
	body     int // bytes of the response's body; 0: "hello"
	header   int // bytes of a header field, each way
}

func goRow(name, id, what string, p protocol, w goSizes) row {
	l := load{protocol: p, connections: 1, streams: 1, path: "/", padding: w.header}
	if w.body+w.header > 0 {
		l.path = "/?body=" + strconv.Itoa(w.body) + "&header=" + strconv.Itoa(w.header)
	}
	if p == http1 {
		l.connections = max(1, w.parallel)
	} else {
		l.streams = max(1, w.parallel)
	}
	theirs := l
	theirs.maxProcs, theirs.unread = w.procs, w.unread
	if w.unread && p == http1 {
		theirs.bound = unreadBound
	}
	r := row{
		name: name, group: groupGo, id: id, server: goHTTP, work: string(p) + ", " + what,
		ours: side{client: h2surge{}, load: l}, peer: &side{client: goClient{}, load: theirs},
	}
	if id != "" {
		r.work += ", GOMAXPROCS=" + strconv.Itoa(w.procs)
	}
	if w.procs > 1 { // as published, the client is not kept to one CPU then
		r.peer.cpus = func(b *lab) []int { return b.CPUs }
	}
	return r
}
