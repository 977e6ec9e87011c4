//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// pluginDir has the kubectl-h2surge of the image. hack/e2e.sh makes it.
var pluginDir = os.Getenv("E2E_PLUGIN_DIR")

// plugin is "kubectl h2surge ..." as a user types it: kubectl finds the program on the path.
type plugin struct {
	*story
	line           string
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// plugin starts a command in the story's namespace, with in as its standard input.
func (s *story) plugin(in, command string, args ...string) *plugin {
	s.Helper()
	if pluginDir == "" {
		s.Fatal("E2E_PLUGIN_DIR is not set: run make e2e")
	}
	args = append([]string{"h2surge", command, "-n", s.ns}, args...)
	p := &plugin{story: s, line: "kubectl " + strings.Join(args, " ")}
	p.cmd = exec.CommandContext(context.WithoutCancel(s.ctx), "kubectl", args...)
	p.cmd.Env = append(os.Environ(), "PATH="+pluginDir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = strings.NewReader(in), &p.stdout, &p.stderr
	s.must(p.cmd.Start())
	s.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// ends waits for the command, checks its exit code, and that each part is in what it wrote to
// standard output, or to standard error when it failed. It returns standard output.
func (p *plugin) ends(code int, parts ...string) string {
	p.Helper()
	_ = p.cmd.Wait()
	out, what := p.stdout.String(), "standard output"
	if code != 0 && len(out) == 0 {
		out, what = p.stderr.String(), "standard error"
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.Fatalf("%s: exit code %d, want %d\n%s%s", p.line, got, code, &p.stdout, &p.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			p.Errorf("%s: %s is\n%swant %q in it", p.line, what, out, part)
		}
	}
	return out
}

// TestPlugin: the quickstart as its users run it, from CI too, while somebody else looks on, changes the
// rate, pauses it and lets it go on.
func TestPlugin(t *testing.T) {
	s := newStory(t, "plugin").withTarget()
	const name = "quickstart"

	begun := time.Now()
	run := s.plugin("", "run", "-f", sample, "--wait")
	s.awaitLoad(1, short)
	watch := s.plugin("", "watch", name)
	s.eventually(15*time.Second, func() string { return s.targetSees(7000, 12_000) })
	s.plugin("", "rate", name, "4000").ends(0, "stage hold of quickstart: 10000/s -> 4000/s\n")
	s.eventually(short, func() string { return s.targetSees(3500, 4500) })
	s.plugin("", "suspend", name).ends(0, "quickstart is pausing; it still receives the responses in flight\n")
	s.eventually(short, func() string { return s.targetSees(0, 0) })
	s.eventually(short, func() string { return s.phaseIs(name, v1alpha1.PhaseSuspended) })
	s.plugin("", "status", name).ends(0, "Suspended, ", "2 of 2 ready", "rates[1].requestsPerSecond: 10000 -> 4000, active since", "suspend")
	s.plugin("", "report", name).ends(1, "quickstart has no report: it has not ended")
	s.plugin("", "resume", name).ends(0, "quickstart continues\n")
	s.eventually(short, func() string { return s.targetSees(3500, 4500) })

	run.ends(0, "Verdict: Passed")
	t.Logf("FIGURE kubectl h2surge run --wait of the quickstart, with a pause: %v", time.Since(begun).Round(100*time.Millisecond))
	s.wantWatched(watch.ends(0))
	s.wantSameAsTarget(s.loadTest(name))
	s.plugin("", "status", name).ends(0, "Completed after", "Passed", "kubectl h2surge report quickstart -n "+s.ns)
	s.plugin("", "stop", name).ends(0, "quickstart has already ended: Completed\n")
	s.plugin("", "report", name, "--exit-code").ends(0, "Verdict: Passed")
	if page := s.plugin("", "report", name, "-o", "html").ends(0, "<!doctype html>"); strings.Contains(page, "<script src") {
		t.Error("the page is not whole without a network")
	}
	s.plugin("", "compare", name, name).ends(0, "Comparison: Passed", "session/create")
	s.plugin("", "list").ends(0, "NAME", "quickstart", "Completed", "True")
	s.plugin("", "run", "-f", sample).ends(1, "LoadTest "+s.ns+"/quickstart already exists, and a LoadTest runs once")
}

// phaseIs says what is wrong with the phase.
func (s *story) phaseIs(name string, want v1alpha1.Phase) string {
	if got := s.loadTest(name).Status.Phase; got != want {
		return "phase " + string(got) + ", want " + string(want)
	}
	return ""
}

// wantWatched: a line a second without a terminal, with what happened in it.
func (s *story) wantWatched(lines string) {
	s.Helper()
	s.Logf("watched:\n%s", lines)
	for _, part := range []string{"of  10000/s", "of   4000/s", " hold\n", " suspended\n", " completed\n"} {
		if !strings.Contains(lines, part) {
			s.Errorf("no line of the watch has %q", part)
		}
	}
	if n := strings.Count(lines, "\n"); n < 10 || n > 60 {
		s.Errorf("%d lines of a run of some 20 s", n)
	}
}

// TestPluginExitCodes: what a script is told of tests that do not pass.
func TestPluginExitCodes(t *testing.T) {
	t.Parallel()
	s := newStory(t, "plugin-codes").withTarget()
	long := s.manifest(s.quickstart("long", 2, hold(500, 5*time.Minute), withoutThresholds))
	wrong := s.manifest(s.quickstart("wrong", 1, hold(200, 2*time.Second), expectingOther))
	page, junit := filepath.Join(t.TempDir(), "wrong.html"), filepath.Join(t.TempDir(), "wrong.xml")

	stopped := s.plugin(long, "run", "-f", "-", "--follow")
	failed := s.plugin(wrong, "run", "-f", "-", "--wait", "--output-file", page, "--output-file", junit)
	s.plugin("", "stop", "nothing").ends(1, `"nothing" not found`)
	s.plugin(strings.Replace(long, `"rates"`, `"rate":[],"rates"`, 1), "run", "-f", "-", "--name", "bad").ends(1, "spec.rate: unknown field")
	s.plugin(long, "run", "-f", "-", "--name", "late", "--wait", "--timeout", "1s").ends(5, "late has not ended after 1s and continues; to stop it: kubectl h2surge stop late -n "+s.ns)
	s.plugin("", "stop", "late").ends(0, "late is stopping; the report keeps everything that was measured\n")

	failed.ends(2, "Verdict: Failed", "FAILED  clean")
	s.plugin("", "report", "wrong", "--exit-code").ends(2, "Verdict: Failed", "FAILED  clean")
	if text, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(text), "<!doctype html>") {
		t.Errorf("--output-file wrote %d octets (%v), no page", len(text), err)
	}
	if text, err := os.ReadFile(junit); err != nil || !strings.Contains(string(text), "<failure type=\"ErrorRate\"") {
		t.Errorf("%v, no failure of the threshold in\n%s", err, text)
	}
	s.awaitSending("long")
	s.plugin("", "stop", "long").ends(0, "long is stopping; the report keeps everything that was measured\n")
	stopped.ends(4, "Verdict: Stopped")
	s.plugin("", "report", "long", "--exit-code").ends(4, "Verdict: Stopped")
	s.plugin("", "compare", "long", "wrong").ends(2, "Comparison: Failed", "WORSE", "The verdict of A is Stopped")
	s.awaitCondition("late", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
}

// expectingOther fails the threshold on errors, whatever the generator's health.
func expectingOther(spec *v1alpha1.LoadTestSpec) {
	spec.Chains[0].Steps[1].Request.Expect.Status = []intstr.IntOrString{intstr.FromInt32(299)}
}
