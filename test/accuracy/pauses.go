package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// pauseMark is the longest pause of a garbage collection that a run may have, in microseconds.
	pauseMark = 1000
	// pauseHeap is the GOGC of these runs. With its default, a short run has no collection.
	pauseHeap = 20
)

// pauseLoad is a row of pausesTable.
type pauseLoad struct{ name, rate string }

var pauseLoads = []pauseLoad{
	{"10/s", "requestsPerSecond: 10"},
	{"10 000/s", "requestsPerSecond: 10000"},
	{"64 in flight", "closedLoop: {concurrency: 64}"},
}

func (l pauseLoad) manifest(url string) string {
	return getManifest(url, "{name: load, "+l.rate+", duration: 4s}", "")
}

// pausesTable shows how long garbage collections stop the worker.
func pausesTable() table {
	t := table{
		title: "Pauses of the garbage collector",
		intro: fmt.Sprintf("The longest time for which a garbage collection of Go's runtime stopped all threads of `h2surge run`, with the time until they have stopped (`GODEBUG=gctrace=1`). Such short runs have no collection, so `GOGC=%d` makes the runtime collect more often. Mark: %s ms.", pauseHeap, milliseconds(pauseMark)),
		head:  []string{"load", "collections", "longest pause, ms"},
	}
	for _, load := range pauseLoads {
		t.rows = append(t.rows, row{name: "pauses: " + load.name, measure: func(b *lab) ([]line, error) {
			return b.measurePauses(load)
		}})
	}
	return t
}

func (b *lab) measurePauses(load pauseLoad) ([]line, error) {
	runs, err := repeat(rounds, func() (run, error) { return b.trace(load) })
	if err != nil {
		return nil, err
	}
	collections := median(runs, func(r run) float64 { return float64(len(r.pauses)) })
	longest := median(runs, func(r run) float64 { return slices.Max(r.pauses) })
	l := line{cells: []string{load.name, fmt.Sprint(collections), milliseconds(longest)}}
	l.atMost("pause", longest/1e3, pauseMark/1e3, " ms")
	return []line{l}, nil
}

// trace runs a load with a trace of its garbage collections.
func (b *lab) trace(load pauseLoad) (run, error) {
	t, err := b.serve(false)
	if err != nil {
		return run{}, err
	}
	var trace string
	out, err := b.against(t, func(url string) (r *rv.Report, err error) {
		c := b.generator(load.manifest(url))
		c.Env = []string{"GODEBUG=gctrace=1", "GOGC=" + strconv.Itoa(pauseHeap)}
		r, trace, err = b.report(c)
		return r, err
	})
	if err != nil {
		return run{}, err
	}
	if out.pauses = pausesOf(trace); len(out.pauses) == 0 {
		return run{}, errors.New("no garbage collection")
	}
	return out, nil
}

// gctrace is a line of GODEBUG=gctrace=1. The first and the third time are those in which all threads are stopped.
var gctrace = regexp.MustCompile(`^gc \d+ @\S+ \d+%: ([\d.]+)\+[\d.]+\+([\d.]+) ms clock,`)

// pausesOf returns the longest pause of each collection, in microseconds.
func pausesOf(trace string) (out []float64) {
	for text := range strings.Lines(trace) {
		if m := gctrace.FindStringSubmatch(text); m != nil {
			begin, _ := strconv.ParseFloat(m[1], 64)
			end, _ := strconv.ParseFloat(m[2], 64)
			out = append(out, max(begin, end)*1e3)
		}
	}
	return out
}
