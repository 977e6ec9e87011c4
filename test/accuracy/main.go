// Command accuracy is behind "make accuracy". It compares what h2surge reports with arithmetic and with what the target
// counted and logged, and writes the tables of docs/accuracy.md.
//
// It is a program and not a Go test because it measures times of real processes on CPUs of their own.
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
	"strings"
	"syscall"
	"time"

	"github.com/h2surge/h2surge/test/harness"
)

func init() {
	runtime.LockOSThread() // see package harness
}

type options struct {
	only    *regexp.Regexp // rows to run; nil: all
	write   string         // file whose tables to replace; empty: none
	h2surge string         // the program under test
	list    bool
}

// marks are around the tables of the page.
var marks = harness.MarksOf("make accuracy")

func main() {
	if len(os.Args) > 1 && os.Args[1] == shardsRole {
		exit(shardsMain(os.Args[2:]))
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
	exit(check(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parseFlags(args []string) (options, error) {
	var o options
	fl := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	only := fl.String("run", "", "run only the rows whose name matches `regexp`; see -list")
	fl.StringVar(&o.write, "write", "", "replace the tables in `file`; needs all rows")
	fl.StringVar(&o.h2surge, "h2surge", "bin/h2surge", "`program` under test")
	fl.BoolVar(&o.list, "list", false, "list the rows and end")
	if err := fl.Parse(args); err != nil {
		return o, err
	}
	if fl.NArg() > 0 {
		return o, errors.New("arguments are not allowed")
	}
	if *only == "" {
		return o, nil
	}
	if o.write != "" {
		return o, errors.New("-write needs all rows: leave -run out")
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	return o, nil
}

// check runs the rows one after another and shows each result. It returns an error if a row missed its mark.
func check(ctx context.Context, o options) error {
	if o.list {
		return each(nil, func(_ *table, r row) error { fmt.Println(r.name); return nil })
	}
	if o.write != "" {
		if err := marks.Check(o.write); err != nil {
			return err
		}
	}
	b, err := newLab(ctx, o.h2surge)
	if err != nil {
		return err
	}
	defer b.close()
	about := b.about()
	done, total, missed := map[*table][]line{}, 0, 0
	err = each(o.only, func(t *table, r row) error {
		lines := b.measure(r)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		for _, l := range lines {
			fmt.Printf("%-24s %s\n", r.name, strings.Join(t.cells(l), " | "))
			total++
			if len(l.missed) > 0 {
				missed++
			}
		}
		done[t] = append(done[t], lines...)
		return nil
	})
	if err != nil {
		return err
	}
	if o.write != "" {
		if err := marks.Write(o.write, page(about, done)); err != nil {
			return err
		}
	}
	switch {
	case total == 0:
		return errors.New("-run: no row has such a name; see -list")
	case missed > 0:
		return fmt.Errorf("%d of %d lines are not reached", missed, total)
	}
	return nil
}

// each calls f for each row whose name matches.
func each(only *regexp.Regexp, f func(*table, row) error) error {
	for i := range tables {
		for _, r := range tables[i].rows {
			if only != nil && !only.MatchString(r.name) {
				continue
			}
			if err := f(&tables[i], r); err != nil {
				return err
			}
		}
	}
	return nil
}

// page returns the tables.
func page(about [][]string, done map[*table][]line) string {
	var s strings.Builder
	fmt.Fprintf(&s, "Measured on %s.\n\n", time.Now().UTC().Format(time.DateOnly))
	s.WriteString(harness.Table([]string{"", ""}, about))
	for i := range tables {
		t := &tables[i]
		var lines [][]string
		for _, l := range done[t] {
			lines = append(lines, t.cells(l))
		}
		fmt.Fprintf(&s, "\n### %s\n\n%s\n\n%s", t.title, t.intro, harness.Table(append(t.head, "verdict"), lines))
	}
	s.WriteString("\n")
	return s.String()
}
