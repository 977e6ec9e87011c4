package main

import "github.com/h2surge/h2surge/test/harness"

// sizingRows are the rows that docs/how-to/sizing.md quotes, with the words of that page.
var sizingRows = []struct{ name, work, load string }{
	{"h2c-m100", "GET, h2c, 10 connections, 100 streams each", "closed loop"},
	{"tls-m100", "the same over TLS 1.3", "closed loop"},
	{"h2c-m1", "GET, h2c, 10 connections, 1 stream each", "closed loop"},
	{"http1", "GET, HTTP/1.1, 100 connections", "closed loop"},
	{"http1-no-keep-alive", "GET, HTTP/1.1, a new connection for each request", "closed loop"},
	{"chain", "chain of POST, PATCH and DELETE, h2c, 4 connections, 64 streams each", "closed loop"},
	{"chain-language", "the same with six variables, functions, JSON pointers and checks in every step", "closed loop"},
	{"chain-lua", "the same with two Lua functions in every step", "closed loop"},
	{"chain-60k", "the same chain without scripts", "60,000/s, `Spread`"},
	{"chain-60k-batch", "the same", "60,000/s, `Batch`"},
	{"notifications-50k", "POST that causes a notification, both together", "50,000/s"},
	{"faults-60k", "the same chain, 64 connections, 256 streams each; 3% of the requests get no response, and 7% get a 404", "60,000/s, `Spread`"},
	{"faults-60k-batch", "the same", "60,000/s, `Batch`"},
	{"faults-120k", "the same", "120,000/s, `Spread`"},
	{"faults-120k-batch", "the same", "120,000/s, `Batch`"},
}

// sizing returns the CPU time of a request of h2surge for each of sizingRows.
func sizing(results []result) string {
	medians := map[string]string{}
	for _, r := range results {
		if len(r.ours) > 0 {
			medians[r.row.name] = harness.Figure(r.ours.of(cpu).median) + " us"
		}
	}
	var lines [][]string
	for _, s := range sizingRows {
		lines = append(lines, []string{s.work, s.load, medians[s.name]})
	}
	return harness.Table([]string{"work", "load", "CPU time of a request"}, lines)
}
