// Command pictures makes the pictures of the docs from real runs of h2surge: the screens of its commands as SVG, and
// its HTML pages, as Chromium shows them, as PNG. "make pictures" runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/markdown"
)

// studio is where pictures are made: a directory with bin/h2surge, the manifests and the reports.
type studio struct {
	ctx      context.Context
	dir, out string
}

func main() {
	out := flag.String("out", "docs/images", "`directory` of the pictures")
	only := flag.String("only", "", "make only the pictures of these names: terminal, reports, live")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := makeAll(ctx, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func makeAll(ctx context.Context, out, only string) error {
	s, err := newStudio(ctx, out)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	for _, step := range []struct {
		name string
		make func() error
	}{{"terminal", s.terminals}, {"reports", s.reports}, {"live", s.live}} {
		if !strings.Contains(only, step.name) && only != "" {
			continue
		}
		if err := step.make(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func newStudio(ctx context.Context, out string) (*studio, error) {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return nil, err
	}
	s := &studio{ctx: ctx, dir: dir}
	bin, err := filepath.Abs("bin")
	if err == nil {
		s.out, err = filepath.Abs(out)
	}
	return s, errors.Join(err, os.Symlink(bin, s.path("bin")), os.CopyFS(dir, os.DirFS("test/pictures/testdata")))
}

func (s *studio) path(name string) string { return filepath.Join(s.dir, name) }

// h2surge returns a command that runs in the directory of the studio.
func (s *studio) h2surge(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.ctx, s.path("bin/h2surge"), args...)
	cmd.Dir = s.dir
	return cmd
}

// withTarget calls do while "h2surge target" listens on port 8080, as in README.
func (s *studio) withTarget(do func() error, args ...string) error {
	target := s.h2surge(append([]string{"target"}, args...)...)
	started, err := target.StdoutPipe()
	if err := errors.Join(err, target.Start()); err != nil {
		return err
	}
	defer func() { _ = errors.Join(target.Process.Signal(os.Interrupt), target.Wait()) }()
	var line [256]byte
	if n, _ := started.Read(line[:]); !strings.HasPrefix(string(line[:n]), "listening") {
		return fmt.Errorf("h2surge target: %s", line[:n])
	}
	return do()
}

// terminals draws what README's commands print for README's manifest.
func (s *studio) terminals() error {
	pages, err := markdown.Pages(".")
	if err != nil {
		return err
	}
	for _, p := range pages {
		for _, b := range p.Blocks {
			if p.File == "README.md" && b.Manifest() {
				err = errors.Join(err, os.WriteFile(s.path("get.yaml"), []byte(b.Text), 0o600))
			}
		}
	}
	return errors.Join(err, s.withTarget(func() error {
		return errors.Join(
			s.terminal("try.svg", "bin/h2surge try -f get.yaml"),
			s.terminal("run.svg", "bin/h2surge run -f get.yaml --output-file report.html"))
	}))
}

// run returns the verdict of a run, and writes its report to NAME.html.
func (s *studio) run(name, manifest string, args ...string) (rv.Verdict, error) {
	data := s.path(name + ".json")
	cmd := s.h2surge(append([]string{"run", "-q", "-f", manifest, "--output-file", name + ".html", "--output-file", data},
		args...)...)
	failed := cmd.Run() // its exit code is the verdict
	raw, err := os.ReadFile(data)
	if err != nil {
		return rv.Verdict{}, errors.Join(failed, err)
	}
	var r rv.Report
	err = json.Unmarshal(raw, &r)
	fmt.Fprintf(os.Stderr, "%s: %s %s\n", name, r.Verdict.Outcome, r.Verdict.Message)
	return r.Verdict, err
}

// reports shows the report of a service that is fast enough, and next to it one of a generator that is not.
func (s *studio) reports() error {
	if err := s.withTarget(s.passed, "-f", "target.yaml"); err != nil {
		return err
	}
	if err := s.bound(); err != nil {
		return err
	}
	page, err := os.ReadFile(s.path("report.html"))
	return errors.Join(err, os.WriteFile(filepath.Join(s.out, "report.html"), page, 0o644),
		s.screenshot("report.png", "file://"+s.path("report.html"), 1180, 1276),
		s.screenshot("verdicts.png", "file://"+s.path("both.html"), 1090, 860))
}

// passed repeats a test until its threshold passes in each window: other programs on this machine may disturb it.
func (s *studio) passed() error {
	for range 4 {
		v, err := s.run("report", "orders.yaml")
		if err != nil || v.Outcome == rv.OutcomePassed && v.Thresholds[0].Ramp == nil {
			return err
		}
	}
	return errors.New("orders.yaml: the run does not pass: repeat it when nothing else runs on this machine")
}

// bound repeats a test with other rates until the generator is its bottleneck: which rate that is depends on the
// machine.
func (s *studio) bound() error {
	text, err := os.ReadFile(s.path("scripted.yaml"))
	if err != nil {
		return err
	}
	for rate, tries := 22000, 0; tries < 12; tries++ {
		manifest := strings.ReplaceAll(string(text), "22000", strconv.Itoa(rate))
		if err := os.WriteFile(s.path("bound.yaml"), []byte(manifest), 0o600); err != nil {
			return err
		}
		v, err := s.run("bound", "bound.yaml", "--demo")
		switch {
		case err != nil || v.Outcome == rv.OutcomeInconclusive:
			return err
		case v.Outcome == rv.OutcomePassed:
			rate = rate * 6 / 5
		default:
			rate = rate * 9 / 10
		}
	}
	return errors.New("scripted.yaml: no rate makes the run Inconclusive")
}

// live shows the live page after two thirds of a run.
func (s *studio) live() error {
	return s.withTarget(func() error {
		const address = "127.0.0.1:8079"
		cmd := s.h2surge("run", "-f", "orders.yaml", "--live="+address)
		progress, err := cmd.StderrPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			return err
		}
		defer cmd.Wait() //nolint:errcheck // its exit code is the verdict
		if err := awaitLine(progress, "  20s"); err != nil {
			return err
		}
		return s.screenshot("live.png", "http://"+address+"/", 1180, 1150)
	}, "-f", "target.yaml")
}
