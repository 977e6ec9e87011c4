// Command perf is the harness behind "make bench". It compares h2surge with h2load, wrk, ab, Go's
// own client and a client in C that does as little as possible, each against the same server with
// the same work, and writes the tables of docs/benchmarks.md.
//
// It is a program and not a Go benchmark because what it measures is the CPU time of whole client
// processes, its own start included, as the kernel counts it for a process that has ended.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
)

func init() {
	// A child inherits the CPUs of the thread that starts it, and gets its parent-death signal when
	// that thread ends: so the main goroutine keeps the main thread and starts every child.
	runtime.LockOSThread()
}

type options struct {
	only    *regexp.Regexp // rows to run; nil: all
	rounds  int
	seconds int    // of sending, in each run of a client
	write   string // file whose tables to replace; empty: none
	sizing  string // file whose table of CPU times to replace; empty: none
	h2surge string // the program under test
	list    bool
}

func main() {
	if len(os.Args) > 1 {
		if run, ok := roles[os.Args[1]]; ok {
			exit(run(os.Args[2:]))
		}
	}
	o, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(bench(ctx, o))
}

// roles are what this program is when it runs itself as a peer.
var roles = map[string]func(args []string) error{
	"go-client": goClientMain,
	"go-server": goServerMain,
	"notifier":  notifierMain,
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parseFlags(args []string) (options, error) {
	var o options
	fl := flag.NewFlagSet("perf", flag.ContinueOnError)
	only := fl.String("run", "", "run only the rows whose name matches `regexp`; see -list")
	fl.IntVar(&o.rounds, "rounds", 5, "measured `rounds` of each row; a round is one run of each side")
	fl.IntVar(&o.seconds, "seconds", 3, "`seconds` of sending in each run")
	fl.StringVar(&o.write, "write", "", "replace the tables in `file`; needs all rows")
	fl.StringVar(&o.sizing, "sizing", "", "replace the table of CPU times in `file`; needs all rows")
	fl.StringVar(&o.h2surge, "h2surge", "bin/h2surge", "`program` under test")
	fl.BoolVar(&o.list, "list", false, "list the rows and end")
	if err := fl.Parse(args); err != nil {
		return o, err
	}
	if fl.NArg() > 0 || o.rounds < 1 || o.seconds < 1 {
		return o, errors.New("no arguments, and at least 1 round of 1 second")
	}
	if *only != "" {
		if o.write != "" || o.sizing != "" {
			return o, errors.New("-write and -sizing need all rows: leave -run out")
		}
		re, err := regexp.Compile(*only)
		if err != nil {
			return o, fmt.Errorf("-run: %w", err)
		}
		o.only = re
	}
	return o, nil
}

// bench runs the rows one after another, telling each result as it comes.
func bench(ctx context.Context, o options) error {
	todo := rows()
	if o.list {
		for _, r := range todo {
			fmt.Printf("%-28s %s\n", r.name, r.describe())
		}
		return nil
	}
	for _, file := range []string{o.write, o.sizing} { // told now and not after all rounds
		if file == "" {
			continue
		}
		if err := marks.Check(file); err != nil {
			return err
		}
	}
	l, err := newLab(ctx, o)
	if err != nil {
		return err
	}
	defer l.close()
	found := l.survey()
	fmt.Print(found.text())
	results, err := l.measureAll(todo, o.only)
	if err != nil {
		return err
	}
	if o.write != "" {
		if err := marks.Write(o.write, page(o, found, results)); err != nil {
			return err
		}
	}
	if o.sizing != "" {
		if err := marks.Write(o.sizing, sizing(results)); err != nil {
			return err
		}
	}
	return failures(results)
}

func (b *lab) measureAll(todo []row, only *regexp.Regexp) ([]result, error) {
	var results []result
	for _, r := range todo {
		if only != nil && !only.MatchString(r.name) {
			continue
		}
		res := b.measure(r)
		if b.ctx.Err() != nil {
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
