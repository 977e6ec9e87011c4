package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/cluster"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

const kubeRunLong = `Run a load test in the cluster. The manifest has one LoadTest, and the ConfigMaps and
Secrets that the LoadTest refers to. h2surge checks the manifest before it sends
anything to the cluster. Then it applies the ConfigMaps and Secrets and creates the
LoadTest. A LoadTest runs once, so its name must be new: see --name and --generate-name.

With --from, h2surge copies the spec, the labels and the annotations of a LoadTest in
the cluster, also of one that has finished, or takes the template of a
LoadTestSchedule. The copy gets a name of its own. ConfigMaps and Secrets stay as they
are.

On a terminal, h2surge follows the test: a line per second on standard error, and at the
end the report on standard output. Ctrl-C stops following, and the test continues,
unless --stop-on-interrupt is given. Without a terminal, h2surge only creates the test,
unless --follow or --wait is given.

` + kubeExitCodes

const kubeRunExample = `  kubectl h2surge run -f loadtest.yaml
  kubectl h2surge run loadtest.yaml -n core --name pcf-2
  kubectl h2surge run -f loadtest.yaml --generate-name --wait --timeout 30m \
      --output-file report.html
  kubectl h2surge run --from pcf --wait
  kubectl h2surge run --from schedule/nightly`

// kubeExitCodes are those of "h2surge run" for a test in a cluster.
const kubeExitCodes = `Exit codes:
  0  passed: all thresholds passed; without a threshold on errors, at most 1% of the
     requests failed; at least one chain was completed
  1  bad manifest or command line, or the operator reports that the spec is invalid
  2  failed: a threshold or the default limit on errors was exceeded, no chain was
     completed, or teardown failed
  3  inconclusive: the generator was the bottleneck (without thresholds and a search,
     the code is 0), a runner was lost or paused and the test continued, something could
     not be compared, observed or authorized, or a search had no result; the verdict
     says which
  4  stopped, or Ctrl-C ended following
  5  the test could not run or was deleted, or --timeout ended following`

// kubeRun are the flags of "kubectl h2surge run".
type kubeRun struct {
	where
	kube            *kube
	files           []string
	from            string
	name            string
	generateName    bool
	wait, follow    bool
	timeout         time.Duration
	output          string
	full            report.Full
	outputFiles     []string
	push            report.Push
	stopOnInterrupt bool
	stdin           io.Reader
	stdout, stderr  io.Writer
	again           func(string) string
	cluster         *cluster.Cluster
	test            *v1alpha1.LoadTest // the last known state
	// probes is the number of probes of a search that were printed.
	probes      int
	reportFiles report.Files
	// left: the user stopped following before the end. stopped: the user stopped the test.
	left, stopped bool
}

func (k *kube) newRun() *cobra.Command {
	r := &kubeRun{kube: k}
	cmd := &cobra.Command{
		Use:     "run {-f FILE | FILE | --from NAME} [flags]",
		Short:   "Create the test of a manifest and follow it to its end",
		Long:    kubeRunLong,
		Example: kubeRunExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.files = append(r.files, args...)
			r.stdin, r.stdout, r.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return r.run(cmd)
		},
	}
	flags := cmd.Flags()
	cli.AddFilename(flags, &r.files)
	flags.StringVar(&r.from, "from", "",
		"run the LoadTest `NAME` again, or schedule/NAME: the template of a LoadTestSchedule")
	flags.StringVar(&r.name, "name", "", "`name` of the LoadTest, instead of the manifest's")
	flags.BoolVar(&r.generateName, "generate-name", false, "append - and five random characters to the name")
	flags.BoolVar(&r.follow, "follow", false, "show progress, then the report; default on a terminal")
	flags.BoolVar(&r.wait, "wait", false, "wait for the end without progress, then show the report")
	flags.DurationVar(&r.timeout, "timeout", 0, "`time` to follow or wait for, such as 10m; the test continues after it")
	flags.StringVarP(&r.output, "output", "o", command.OutputText, report.OutputUsage)
	report.CompleteOutput(cmd)
	r.full.Register(flags)
	flags.StringArrayVar(&r.outputFiles, "output-file", nil, report.OutputFileUsage)
	r.push.Register(flags, report.SendsReport)
	flags.BoolVar(&r.stopOnInterrupt, "stop-on-interrupt", false,
		"stop the test on Ctrl-C, wait for its end and show the report")
	r.register(cmd)
	return cmd
}

func (r *kubeRun) run(cmd *cobra.Command) error {
	if err := r.check(cmd); err != nil {
		return err
	}
	m, err := r.manifest(cmd)
	if err != nil {
		return err
	}
	if r.reportFiles, err = report.OpenFiles(r.outputFiles); err != nil {
		return err
	}
	defer r.reportFiles.Discard()
	r.warnOfTTL(&m.LoadTest.Spec)
	if r.test, err = r.cluster.Submit(cmd.Context(), m); err != nil {
		return kubeError(err)
	}
	r.again = r.where.again(cmd, r.cluster, r.test.Name)
	fmt.Fprintf(r.stderr, "created LoadTest %s/%s\n", r.test.Namespace, r.test.Name)
	if !r.follow && !r.wait {
		fmt.Fprintln(r.stderr, "to watch it: "+r.again("watch"))
		return nil
	}
	result, err := r.toTheEnd(cmd.Context())
	if err != nil {
		return err
	}
	return r.conclude(cmd.Context(), result)
}

// manifest connects to the cluster, and returns the manifest of the new run: from files, or with --from from the
// cluster.
func (r *kubeRun) manifest(cmd *cobra.Command) (m *compile.Manifest, err error) {
	var content []byte
	if r.from == "" {
		if m, content, err = cli.LoadManifest(r.files, r.stdin, r.stderr); err != nil {
			return nil, err
		}
		r.rename(&m.LoadTest.ObjectMeta)
	}
	if r.cluster, err = r.connect(r.kube, cmd); err != nil {
		return nil, err
	}
	if r.from == "" {
		if err := r.cluster.Place(m, content); err != nil {
			return nil, command.Usagef("%v", err)
		}
		return m, nil
	}
	if m, err = r.cluster.From(cmd.Context(), r.from); err != nil {
		return nil, kubeError(err)
	}
	r.generateName = r.generateName || r.name == ""
	r.rename(&m.LoadTest.ObjectMeta)
	return m, nil
}

func (r *kubeRun) check(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("follow") && !r.wait {
		_, r.follow = r.kube.size(r.stderr)
	}
	switch {
	case r.from != "" && len(r.files) > 0:
		return command.Usagef("--from: not allowed with -f")
	case r.from == "" && len(r.files) == 0:
		return command.Usagef("-f FILE: the argument is missing")
	case r.wait && r.follow:
		return command.Usagef("--wait: not allowed with --follow")
	case r.timeout < 0:
		return command.Usagef("--timeout: must not be negative")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"timeout", r.timeout > 0}, {"output-file", len(r.outputFiles) > 0}, {"otlp-endpoint", r.push.Given()},
		{"stop-on-interrupt", r.stopOnInterrupt},
	} {
		if f.given && !r.wait && !r.follow {
			return command.Usagef("--%s: allowed only with --follow or --wait", f.name)
		}
	}
	most := compile.MaxName
	if r.generateName {
		most -= generatedSuffix
	}
	if r.name != "" {
		if wrong := validation.IsDNS1123Label(r.name); len(wrong) > 0 || len(r.name) > most {
			return command.Usagef("--name: %q is not a valid name; allowed: lower-case letters, digits and -, at most %d characters",
				r.name, most)
		}
	}
	if err := r.push.Check(); err != nil {
		return err
	}
	return r.full.Check(r.output)
}

// shortTTL is the time in seconds in which the report of a finished test is fetched, also by a busy machine.
const shortTTL = 5

// warnOfTTL warns if the operator can delete the test before its report is fetched.
func (r *kubeRun) warnOfTTL(spec *v1alpha1.LoadTestSpec) {
	by := cmp.Or(spec.TTLSecondsByOutcome, &v1alpha1.TTLByOutcome{})
	for _, f := range []struct {
		name string
		ttls []*int32
	}{
		{"ttlSecondsAfterFinished", []*int32{spec.TTLSecondsAfterFinished}},
		{"ttlSecondsByOutcome", []*int32{by.Passed, by.Failed, by.Inconclusive, by.Error, by.Stopped}},
	} {
		short := slices.ContainsFunc(f.ttls, func(ttl *int32) bool { return ttl != nil && *ttl < shortTTL })
		if short && (r.follow || r.wait) {
			fmt.Fprintf(r.stderr, "warning: spec.%s: the operator can delete the test before h2surge has its report; "+
				"use at least %d seconds\n", f.name, shortTTL)
		}
	}
}

// generatedSuffix is the length of - and the characters that the API server appends to a prefix.
const generatedSuffix = 1 + compile.GeneratedLength

// rename sets the name of the LoadTest, or the prefix from which the API server makes a name. A prefix that is too
// long is cut.
func (r *kubeRun) rename(meta *metav1.ObjectMeta) {
	if r.name != "" {
		meta.Name, meta.GenerateName = r.name, ""
	}
	if r.generateName && meta.Name != "" {
		meta.Name, meta.GenerateName = "", meta.Name[:min(len(meta.Name), compile.MaxName-generatedSuffix)]+"-"
	}
}

// toTheEnd follows the test until its end and returns its report, nil if it has none; or why it stopped following.
func (r *kubeRun) toTheEnd(ctx context.Context) (*rv.Report, error) {
	if r.timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	ticks, stop := r.kube.ticks(cluster.Interval)
	defer stop()
	wishes, release := r.kube.interrupts(false, func() {})
	defer release()
	wait := func() bool { return r.nextLook(ctx, ticks, wishes) }
	err := r.cluster.Follow(ctx, r.test.Name, r.test, func(l cluster.Look) bool { return r.show(ctx, l) }, wait)
	var result *rv.Report
	if err == nil && !r.left && r.test.Status.Report != nil {
		result, err = r.fetch(ctx, wait)
	}
	switch {
	case r.left:
		return nil, command.Exit(verdict.ExitStopped, r.farewell())
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, command.Failf("%s", r.late())
	case err != nil: // the manifest was right
		return nil, command.Failf("%v", err)
	}
	return result, nil
}

// fetch returns the report of the test. After a temporary error, it asks again each time wait returns.
func (r *kubeRun) fetch(ctx context.Context, wait func() bool) (*rv.Report, error) {
	for {
		b, err := r.cluster.Report(ctx, r.test)
		if err == nil {
			return readReport(r.test.Name, b)
		}
		if !cluster.Temporary(err) {
			return nil, err
		}
		r.left = r.follow && errors.Is(r.progress(cluster.Look{Test: r.test, Trouble: err}), syscall.EPIPE)
		if r.left || !wait() {
			return nil, err
		}
	}
}

// show takes one look; false: it is the last one. A reader of the progress that has ended, such as head, counts as an
// interrupt.
func (r *kubeRun) show(ctx context.Context, l cluster.Look) bool {
	r.test = l.Test
	unread := r.follow && errors.Is(r.progress(l), syscall.EPIPE)
	switch {
	case cluster.Finished(l.Test):
		return false
	case unread && !r.stopped:
		r.left = !r.stops(ctx)
	}
	return !r.left
}

func (r *kubeRun) progress(l cluster.Look) error {
	return printLook(r.stderr, l, &r.probes, r.kube.now())
}

// printLook prints the line of a look, after those of the probes of a search that were not printed yet.
func printLook(w io.Writer, l cluster.Look, probes *int, now time.Time) error {
	for _, probe := range cluster.ProbeLines(l.Test, *probes) {
		*probes++
		fmt.Fprintln(w, probe)
	}
	_, err := fmt.Fprintln(w, l.Line(now))
	return err
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

// stops stops the test on the first interrupt if --stop-on-interrupt was given. It returns false if the test continues.
func (r *kubeRun) stops(ctx context.Context) bool {
	if !r.stopOnInterrupt || r.stopped {
		return false
	}
	text, err := r.cluster.Stop(ctx, r.test.Name)
	if err != nil {
		text = "could not stop the test: " + mask.Line(err.Error())
	}
	fmt.Fprintln(r.stderr, text)
	r.stopped = err == nil
	return r.stopped
}

// late is the message if the time of --timeout has passed.
func (r *kubeRun) late() string {
	if cluster.Finished(r.test) {
		return fmt.Sprintf("%s has ended, and its report was not available after %s; to get it: %s", r.test.Name, r.timeout,
			r.again("report"))
	}
	return fmt.Sprintf("%s has not ended after %s and continues; to stop it: %s", r.test.Name, r.timeout, r.again("stop"))
}

func (r *kubeRun) farewell() string {
	switch {
	case cluster.Finished(r.test):
		return fmt.Sprintf("%s has ended; to get its report: %s", r.test.Name, r.again("report"))
	case r.stopped:
		return fmt.Sprintf("%s is stopping; to get its report: %s", r.test.Name, r.again("report"))
	}
	return fmt.Sprintf("%s continues; to stop it: %s", r.test.Name, r.again("stop"))
}

// conclude shows the report of a test that has ended, and ends as "h2surge run" would have.
func (r *kubeRun) conclude(ctx context.Context, result *rv.Report) error {
	if cluster.Invalid(r.test) {
		lines := []string{"the operator reports that the spec is invalid:"}
		for _, c := range r.test.Status.Conditions {
			if c.Type == v1alpha1.ConditionPlanReady {
				lines = append(lines, strings.Split(c.Message, "\n")...)
			}
		}
		return command.Exit(verdict.ExitUsage, lines...)
	}
	if result == nil {
		return r.withoutReport()
	}
	if err := command.All(r.reportFiles.Save(result), r.full.Print(r.stdout, r.output, result, r.outputFiles),
		r.push.Send(ctx, result)); err != nil {
		return err
	}
	return report.AsVerdict(result, report.Reported(r.stdout, r.output))
}

// withoutReport ends as the verdict in status says: it is all there is of a test of which nothing was
// measured.
func (r *kubeRun) withoutReport() error {
	v := r.test.Status.Verdict
	if v == nil {
		return command.Failf("%s ended without a verdict; for details: %s", r.test.Name, r.again("status"))
	}
	judged := rv.Verdict{Outcome: rv.Outcome(v.Outcome), Reason: v.Reason, Message: v.Message}
	judged.Thresholds = cluster.Thresholds(v.Thresholds)
	return report.AsVerdict(&rv.Report{Verdict: judged}, false)
}
