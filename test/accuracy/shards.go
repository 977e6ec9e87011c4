package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/runner"
	"github.com/h2surge/h2surge/runner/tune"
	"github.com/h2surge/h2surge/test/harness"
)

// shardTolerance between one shard and several, in microseconds, and as a ratio.
const shardTolerance, shardRatio = 300, 0.01

// shardsTable compares several shards with one.
func shardsTable() table {
	return table{
		title: "Several shards and one",
		intro: fmt.Sprintf("The same plan with one, two and three shards: %d slots in two stages, and a sequence with one value for each slot. The runners are in one process, and their snapshots are merged as in a cluster. The target draws exponential delays (mean 5 ms) with the same seed in each run. Every slot must be sent once, every value must arrive once, and percentiles of the service time must be those of one shard within 0.3 ms and 1%%, without p99.9.", lowSlots+highSlots),
		head: []string{"shards", "stage low", "stage high", "values", "p50, ms", "p90, ms", "p95, ms", "p99, ms",
			"p99.9, ms"},
		rows: []row{{name: "shards", measure: (*lab).measureShards}},
	}
}

func (b *lab) measureShards() ([]line, error) {
	var lines []line
	var one []percentile
	for shards := 1; shards <= 3; shards++ {
		runs, err := repeat(rounds, func() (run, error) { return b.sharded(shards) })
		if err != nil {
			return nil, err
		}
		got := percentiles(runs, serviceTime)
		if one == nil {
			one = got
		}
		lines = append(lines, shardsLine(shards, runs, got, one))
	}
	return lines, nil
}

func shardsLine(shards int, runs []run, got, one []percentile) line {
	first := runs[0]
	l := line{cells: []string{
		strconv.Itoa(shards), harness.Thousands(first.Stages[0].Sent), harness.Thousands(first.Stages[1].Sent),
		harness.Thousands(first.counts.DistinctBodies),
	}}
	for _, p := range got {
		l.cells = append(l.cells, milliseconds(p.us))
	}
	if l.generatorBound(runs) {
		return l
	}
	for _, r := range runs {
		l.near("stage low", float64(r.Stages[0].Sent), lowSlots, 0, "")
		l.near("stage high", float64(r.Stages[1].Sent), highSlots, 0, "")
		l.near("values", float64(r.counts.DistinctBodies), lowSlots+highSlots, 0, "")
		l.near("repeated values", float64(r.counts.RepeatedBodies), 0, 0, "")
	}
	for i, p := range got {
		if p.q > judged {
			break
		}
		l.near(p.name, p.us/1e3, one[i].us/1e3, (shardTolerance+shardRatio*one[i].us)/1e3, " ms")
	}
	return l
}

// sharded runs postManifest in a process of its own.
func (b *lab) sharded(shards int) (run, error) {
	rules := filepath.Join(b.Dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(delayRules("exponential: {mean: 5ms, max: 100ms}")), 0o600); err != nil {
		return run{}, err
	}
	t, err := b.serve(false, "-f", rules, "--seed", "7", "--track-bodies")
	if err != nil {
		return run{}, err
	}
	return b.against(t, func(url string) (*rv.Report, error) {
		r, _, err := b.report(harness.Command{Argv: []string{b.Self, shardsRole}, Stdin: postManifest(url, shards)})
		return r, err
	})
}

// shardsRole is the first argument of this program when it runs shards.
const shardsRole = "run-shards"

// shardsMain runs the shards of the LoadTest on standard input, and prints the merged report.
func shardsMain(args []string) error {
	if len(args) > 0 {
		return errors.New(shardsRole + " has no arguments")
	}
	m, err := compile.Load(os.Stdin)
	if err != nil {
		return err
	}
	plan, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	r, err := runShards(plan)
	if err != nil {
		return err
	}
	if r.Verdict, err = verdict.Judge(plan, r, verdict.Facts{}); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// runShards runs one runner for each shard, all from the same instant.
func runShards(plan *rv.Plan) (*rv.Report, error) {
	shares, err := split.Split(plan, plan.Shards)
	if err != nil {
		return nil, err
	}
	tune.Heap()
	tune.Workers(plan.Shards)
	var runners []*runner.Runner
	for i := range shares {
		r, err := runner.New(plan, runner.Options{Workers: 1, NoPin: true})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if err := r.Update(rv.Update{Revision: 1, Share: shares[i]}); err != nil {
			return nil, err
		}
		runners = append(runners, r)
	}
	for _, r := range runners {
		for r.Snapshot().State != rv.StateReady {
			time.Sleep(5 * time.Millisecond)
		}
	}
	at := rv.Clock() + int64(50*time.Millisecond)
	for _, r := range runners {
		if err := r.Start(rv.Start{At: at}); err != nil {
			return nil, err
		}
	}
	in := build.Input{Plan: plan}
	for _, r := range runners {
		<-r.Done()
		in.Snapshots = append(in.Snapshots, *r.Snapshot())
	}
	return build.Build(in)
}
