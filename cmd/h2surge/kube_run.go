package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cluster"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/verdict"
)

const kubeRunLong = `Run a load test in the cluster. The manifest has one LoadTest and the ConfigMaps and
Secrets that go with it. All mistakes that can be seen without the cluster are told
before anything is sent to it. The ConfigMaps and Secrets are applied, and the LoadTest
is created; it runs once, so one of its name must not be there.

On a terminal the test is followed to its end, a line a second on standard error, and
the report goes to standard output. Ctrl-C leaves the test running, unless
--stop-on-interrupt was given. Without a terminal it is only created, unless --follow or
--wait says otherwise.

` + kubeExitCodes

// kubeExitCodes are the same codes, in the words of somebody who looks on.
const kubeExitCodes = `Exit codes:
  0  passed: every threshold holds; without one on errorRatio, at most 1 % of the
     requests failed, and a chain was completed
  1  bad manifest or command line, also one that only the operator finds
  2  failed: a threshold or the default limit on errors was exceeded, no chain was
     completed, or teardown failed
  3  inconclusive: the generator was the bottleneck, or a runner was lost and the
     test went on without it
  4  stopped, or left alone by Ctrl-C
  5  could not run, or was not followed to its end`

// kubeRun are the flags of "kubectl h2surge run".
type kubeRun struct {
	where
	kube            *kube
	file, name      string
	wait, follow    bool
	timeout         time.Duration
	output, report  string
	stopOnInterrupt bool
	stdin           io.Reader
	stdout, stderr  io.Writer
	again           func(string) string
	cluster         *cluster.Cluster
	test            *v1alpha1.LoadTest // as it was when it was last seen
	reportFile      *reportFile
	// left: the user did not wait for the end; stopped: he asked for it.
	left, stopped bool
}

func (k *kube) newRun() *cobra.Command {
	r := &kubeRun{kube: k}
	cmd := &cobra.Command{
		Use:   "run -f FILE [flags]",
		Short: "Create a test of a manifest and follow it to its end",
		Long:  kubeRunLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.stdin, r.stdout, r.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return r.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&r.file, "filename", "f", "", "`file` with the manifest, YAML or JSON; - is standard input")
	flags.StringVar(&r.name, "name", "", "`name` of the LoadTest, in place of the manifest's")
	flags.BoolVar(&r.follow, "follow", false, "show progress, then the report; default on a terminal")
	flags.BoolVar(&r.wait, "wait", false, "wait for the end without progress, then show the report")
	flags.DurationVar(&r.timeout, "timeout", 0, "`time` to follow or wait for, such as 10m; the test goes on")
	flags.StringVarP(&r.output, "output", "o", outputText, "report's `format`: text, json, html, h2load")
	flags.StringVar(&r.report, "report", "", "`file` to save the report in as well, as its name says")
	flags.BoolVar(&r.stopOnInterrupt, "stop-on-interrupt", false, "Ctrl-C stops the test and shows what was measured")
	r.register(cmd)
	return cmd
}

func (r *kubeRun) run(cmd *cobra.Command) error {
	if err := r.check(cmd); err != nil {
		return err
	}
	m, source, err := r.load()
	if err != nil {
		return err
	}
	if r.cluster, err = r.connect(r.kube, cmd); err != nil {
		return err
	}
	if err := r.cluster.Place(m, source); err != nil {
		return usagef("%v", err)
	}
	if r.report != "" {
		if r.reportFile, err = openReportFile(r.report); err != nil {
			return usagef("--report: %v", err)
		}
		defer r.reportFile.discard()
	}
	if r.test, err = r.cluster.Submit(cmd.Context(), m); err != nil {
		return kubeError(err)
	}
	r.again = r.where.again(cmd, r.cluster, r.test.Name)
	fmt.Fprintf(r.stderr, "LoadTest %s/%s was created\n", r.test.Namespace, r.test.Name)
	if !r.follow && !r.wait {
		fmt.Fprintln(r.stderr, "watch it: "+r.again("watch"))
		return nil
	}
	if err := r.toTheEnd(cmd.Context()); err != nil {
		return err
	}
	return r.conclude(cmd.Context())
}

func (r *kubeRun) check(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("follow") && !r.wait {
		_, r.follow = r.kube.size(r.stderr)
	}
	switch {
	case r.file == "":
		return usagef("a manifest (-f FILE) is needed")
	case r.wait && r.follow:
		return usagef("--wait and --follow exclude each other")
	case r.timeout < 0:
		return usagef("--timeout: must not be negative")
	case !r.wait && !r.follow && (r.report != "" || r.timeout > 0 || r.stopOnInterrupt):
		return usagef("--report, --timeout and --stop-on-interrupt go with --follow or --wait")
	}
	if r.name != "" {
		if wrong := validation.IsDNS1123Label(r.name); len(wrong) > 0 || len(r.name) > maxTestName {
			return usagef("--name: %q is not possible; lower-case letters, digits and - are, at most %d characters", r.name, maxTestName)
		}
	}
	return checkOutput(r.output)
}

// maxTestName is the bound of a LoadTest's name, in characters.
const maxTestName = 50

// load finds all mistakes there are before anything is sent.
func (r *kubeRun) load() (*compile.Manifest, []byte, error) {
	source, err := r.read()
	if err != nil {
		return nil, nil, usagef("-f: %v", err)
	}
	found := lintManifest(bytes.NewReader(source))
	var lines []string
	for _, m := range found {
		if !m.warning {
			lines = append(lines, m.in(shownName(r.file)))
		}
	}
	if len(lines) > 0 {
		return nil, nil, &exitError{code: verdict.ExitUsage, lines: lines}
	}
	for _, m := range found {
		fmt.Fprintln(r.stderr, m.in(shownName(r.file)))
	}
	m, err := compile.Load(bytes.NewReader(source))
	if err != nil {
		return nil, nil, usagef("-f: %v", err)
	}
	if r.name != "" {
		m.LoadTest.Name = r.name
	}
	return m, source, nil
}

func (r *kubeRun) read() ([]byte, error) {
	if r.file == "-" {
		return io.ReadAll(io.LimitReader(r.stdin, compile.MaxManifest+1))
	}
	f, err := os.Open(r.file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, compile.MaxManifest+1))
}

// toTheEnd follows the test until it has ended, or says why it does not any more.
func (r *kubeRun) toTheEnd(ctx context.Context) error {
	if r.timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	ticks, stop := r.kube.ticks(cluster.Interval)
	defer stop()
	wishes, release := r.kube.interrupts(signals{last: func() {}})
	defer release()
	err := r.cluster.Follow(ctx, r.test.Name, func(l cluster.Look) bool {
		r.test = l.Test
		if r.follow {
			r.progress(l)
		}
		return !cluster.Finished(l.Test)
	}, func() bool { return r.nextLook(ctx, ticks, wishes) })
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failf("%s has not ended within %s, and goes on; stop it: %s", r.test.Name, r.timeout, r.again("stop"))
	case err == nil && r.left:
		return &exitError{code: verdict.ExitStopped, lines: []string{r.farewell()}}
	}
	return kubeError(err)
}

func (r *kubeRun) progress(l cluster.Look) {
	if l.Trouble != nil {
		fmt.Fprintln(r.stderr, "not seen just now: "+oneLine(l.Trouble.Error()))
		return
	}
	fmt.Fprintln(r.stderr, cluster.Line(l.Test, r.kube.now()))
}

// nextLook waits until it is time to look again; false: the user wants to leave.
func (r *kubeRun) nextLook(ctx context.Context, ticks <-chan time.Time, wishes <-chan os.Signal) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-wishes:
			if r.left = !r.stops(ctx); r.left {
				return false
			}
		case <-ticks:
			return true
		}
	}
}

// stops obeys the user's first wish to end, if the test is to be stopped then; false: it is left alone.
func (r *kubeRun) stops(ctx context.Context) bool {
	if !r.stopOnInterrupt || r.stopped {
		return false
	}
	text, err := r.cluster.Stop(ctx, r.test.Name)
	if err != nil {
		text = "it was not stopped: " + oneLine(err.Error())
	}
	fmt.Fprintln(r.stderr, text)
	r.stopped = err == nil
	return r.stopped
}

func (r *kubeRun) farewell() string {
	if r.stopped {
		return fmt.Sprintf("%s was told to stop; its report will be there: %s", r.test.Name, r.again("report"))
	}
	return fmt.Sprintf("%s goes on; stop it: %s", r.test.Name, r.again("stop"))
}

// conclude shows the report of a test that has ended, and ends as "h2surge run" would have.
func (r *kubeRun) conclude(ctx context.Context) error {
	st := &r.test.Status
	if cluster.Invalid(r.test) {
		lines := []string{"the cluster cannot run this LoadTest:"}
		for _, c := range st.Conditions {
			if c.Type == v1alpha1.ConditionPlanReady {
				lines = append(lines, strings.Split(c.Message, "\n")...)
			}
		}
		return &exitError{code: verdict.ExitUsage, lines: lines}
	}
	if st.ReportRef == nil {
		return r.withoutReport()
	}
	report, err := fetchReport(ctx, r.cluster, r.test)
	if err != nil {
		return kubeError(err)
	}
	if r.reportFile != nil {
		if err := r.reportFile.save(func(w io.Writer) error { return writeReport(w, r.reportFile.format(), report) }); err != nil {
			return failf("%v", err)
		}
	}
	if err := writeReport(r.stdout, r.output, report); err != nil {
		return failf("writing the report: %v", err)
	}
	return asVerdict(report)
}

// withoutReport ends as the verdict in status says: it is all there is of a test of which nothing was
// measured.
func (r *kubeRun) withoutReport() error {
	v := r.test.Status.Verdict
	if v == nil {
		return failf("%s ended without a verdict: %s", r.test.Name, r.again("status"))
	}
	judged := rv.Verdict{Outcome: rv.Outcome(v.Outcome), Reason: v.Reason, Message: v.Message}
	judged.Thresholds = slices.Grow(judged.Thresholds, len(v.Thresholds))
	for _, t := range v.Thresholds {
		judged.Thresholds = append(judged.Thresholds, rv.ThresholdResult{Name: t.Name, Limit: t.Limit, Observed: t.Observed, Passed: t.Passed})
	}
	return asVerdict(&rv.Report{Verdict: judged})
}
