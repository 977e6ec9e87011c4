package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// Main is the main function of a program that measures rows. The first argument may name a role: what the program is
// when it runs itself. If it does not, measure gets the arguments. An interrupt ends its context.
func Main(roles map[string]func(args []string) error, measure func(ctx context.Context, args []string) error) {
	runtime.LockOSThread()
	args := os.Args[1:]
	var err error
	if len(args) > 0 && roles[args[0]] != nil {
		err = roles[args[0]](args[1:])
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = measure(ctx, args)
		stop()
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, filepath.Base(os.Args[0])+":", err)
		os.Exit(1)
	}
}

// Options are the flags of a program that measures rows.
type Options struct {
	Write   string // file whose tables to replace; empty: none
	H2surge string // the program under test
	List    bool
	only    *regexp.Regexp // rows to run
}

// Parse reads the flags of Options and those that fl has. Each page is a file whose tables are replaced, or empty. A
// page needs all rows and its marks: Parse says so before hours of measuring.
func (o *Options) Parse(fl *flag.FlagSet, args []string, marks Marks, pages ...*string) error {
	only := fl.String("run", "", "run only the rows whose name matches `regexp`; see -list")
	fl.StringVar(&o.Write, "write", "", "replace the tables in `file`; needs all rows")
	fl.StringVar(&o.H2surge, "h2surge", "bin/h2surge", "`program` under test")
	fl.BoolVar(&o.List, "list", false, "list the rows and end")
	if err := fl.Parse(args); err != nil {
		return err
	}
	if fl.NArg() > 0 {
		return errors.New("arguments are not allowed")
	}
	for _, page := range append(pages, &o.Write) {
		if *page == "" {
			continue
		}
		if *only != "" {
			return errors.New("a page needs all rows: leave -run out")
		}
		if err := marks.Check(*page); err != nil {
			return err
		}
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	return nil
}

// Wants returns whether a row is to be run.
func (o *Options) Wants(row string) bool { return o.only.MatchString(row) }

// Lab is where rows are measured: the CPUs, a folder for what is made at run time, and the program under test.
type Lab struct {
	Ctx     context.Context
	CPUs    []int
	Dir     string // removed by Close
	H2surge string
	Self    string // this program
}

// NewLab finds the CPUs and the program, and makes the folder.
func (o *Options) NewLab(ctx context.Context) (b Lab, err error) {
	b.Ctx = ctx
	if b.CPUs, err = AllowedCPUs(); err != nil {
		return b, err
	}
	if len(b.CPUs) < 2 {
		return b, errors.New("client and server each need a CPU of their own; there is only one")
	}
	if b.H2surge, err = exec.LookPath(o.H2surge); err != nil {
		return b, fmt.Errorf("%w (make build makes it)", err)
	}
	if b.H2surge, err = filepath.Abs(b.H2surge); err != nil {
		return b, err
	}
	if b.Self, err = os.Executable(); err != nil {
		return b, err
	}
	b.Dir, err = os.MkdirTemp("", "h2surge-lab")
	return b, err
}

// Close removes the folder.
func (b *Lab) Close() { _ = os.RemoveAll(b.Dir) }

// ServerCPUs and ClientCPUs are as far apart as can be.
func (b *Lab) ServerCPUs() []int { return b.CPUs[:1] }

// ClientCPUs are those of the generator.
func (b *Lab) ClientCPUs() []int { return b.CPUs[len(b.CPUs)-1:] }

// Version runs a program for its version. Some end with a code other than 0 all the same.
func (b *Lab) Version(program, flag, pattern string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return "not installed"
	}
	f, err := Run(b.Ctx, Command{Argv: []string{path, flag}, CPUs: b.CPUs}, 10*time.Second)
	if err != nil {
		return unknown
	}
	return match(f.Stdout+f.Stderr, pattern)
}
