// Command accuracy is behind "make accuracy". It compares what h2surge reports with arithmetic and with what the target
// counted and logged, and writes the tables of docs/project/accuracy.md.
//
// It is a program and not a Go test because it measures times of real processes on CPUs of their own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/h2surge/h2surge/test/harness"
)

// marks are around the tables of the page.
var marks = harness.MarksOf("make accuracy")

func main() {
	harness.Main(map[string]func([]string) error{shardsRole: shardsMain}, check)
}

// check runs the rows one after another and shows each result. It returns an error if a row missed its mark.
func check(ctx context.Context, args []string) error {
	var o harness.Options
	if err := o.Parse(flag.NewFlagSet("accuracy", flag.ContinueOnError), args, marks); err != nil {
		return err
	}
	if o.List {
		return each(func(_ *table, r row) error { fmt.Println(r.name); return nil })
	}
	shared, err := o.NewLab(ctx)
	if err != nil {
		return err
	}
	b := &lab{Lab: shared}
	defer b.Close()
	about := b.about()
	done, total, missed := map[*table][]line{}, 0, 0
	err = each(func(t *table, r row) error {
		if !o.Wants(r.name) {
			return nil
		}
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
	if err := marks.Write(o.Write, page(about, done)); err != nil {
		return err
	}
	switch {
	case total == 0:
		return errors.New("-run: no row has such a name; see -list")
	case missed > 0:
		return fmt.Errorf("%d of %d lines are not reached", missed, total)
	}
	return nil
}

// each calls f for each row.
func each(f func(*table, row) error) error {
	for i := range tables {
		for _, r := range tables[i].rows {
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
