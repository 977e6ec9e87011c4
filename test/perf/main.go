// Command perf is the harness behind "make bench". It compares h2surge with h2load, wrk, ab, ghz, Go's
// own client and a client in C that does as little as possible, each against the same server with
// the same work, and writes the tables of docs/project/benchmarks.md.
//
// It is a program and not a Go benchmark because what it measures is the CPU time of whole client
// processes, its own start included, as the kernel counts it for a process that has ended.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/h2surge/h2surge/test/harness"
)

type options struct {
	harness.Options
	rounds  int
	seconds int    // of sending, in each run of a client
	sizing  string // file whose table of CPU times to replace; empty: none
}

func main() { harness.Main(roles, bench) }

// roles are what this program is when it runs itself as a peer.
var roles = map[string]func(args []string) error{
	"go-client":   goClientMain,
	"go-server":   goServerMain,
	"grpc-server": callServerMain,
	"notifier":    notifierMain,
}

func parseFlags(args []string) (o options, err error) {
	fl := flag.NewFlagSet("perf", flag.ContinueOnError)
	fl.IntVar(&o.rounds, "rounds", 5, "measured `rounds` of each row; a round is one run of each side")
	fl.IntVar(&o.seconds, "seconds", 3, "`seconds` of sending in each run")
	fl.StringVar(&o.sizing, "sizing", "", "replace the table of CPU times in `file`; needs all rows")
	if err = o.Parse(fl, args, marks, &o.sizing); err == nil && min(o.rounds, o.seconds) < 1 {
		err = errors.New("at least 1 round of 1 second is needed")
	}
	return o, err
}

// bench runs the rows one after another, telling each result as it comes.
func bench(ctx context.Context, args []string) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	todo := rows()
	if o.List {
		for _, r := range todo {
			fmt.Printf("%-28s %s\n", r.name, r.describe())
		}
		return nil
	}
	l, err := newLab(ctx, o)
	if err != nil {
		return err
	}
	defer l.Close()
	found := l.survey()
	fmt.Print(found.text())
	results, err := l.measureAll(todo, o.Wants)
	if err != nil {
		return err
	}
	if err := marks.Write(o.Write, page(o, found, results)); err != nil {
		return err
	}
	if err := marks.Write(o.sizing, sizing(results)); err != nil {
		return err
	}
	return failures(results)
}

func (b *lab) measureAll(todo []row, wants func(row string) bool) ([]result, error) {
	var results []result
	for _, r := range todo {
		if !wants(r.name) {
			continue
		}
		res := b.measure(r)
		if b.Ctx.Err() != nil {
			return nil, errors.New("interrupted; nothing written")
		}
		fmt.Println(res.line())
		results = append(results, res)
	}
	if len(results) == 0 {
		return nil, errors.New("-run: no row has such a name; see -list")
	}
	return results, nil
}

// failures is an error when a row failed. A mark that is missed or a row that is skipped is not an error.
func failures(results []result) error {
	failed := 0
	for _, r := range results {
		if r.state == stateFailed {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d rows failed", failed, len(results))
	}
	return nil
}
