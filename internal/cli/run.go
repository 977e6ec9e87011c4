package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/livepage"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/render"
	"github.com/h2surge/h2surge/runner/observe"
	"github.com/h2surge/h2surge/runner/trial"
	"github.com/h2surge/h2surge/runner/tune"
)

const runLong = `Run a load test on this machine, without a cluster.

With a manifest, h2surge runs the LoadTest that kubectl apply would create in a cluster.
The ConfigMaps and Secrets that the LoadTest refers to must be in the same manifest. All
shards run in this process. The number of workers is shards x cpusPerShard, at most one
for each CPU. --target-url replaces the addresses of the targets.

With URLs, the flags are those of h2load. The server decides between HTTP/2 and
HTTP/1.1: with https:// by ALPN; with http:// the run uses HTTP/1.1 if the server does
not answer the preface of HTTP/2.
Differences from h2load: --rps is the rate of the whole test, not of one connection; -d
takes the body or @FILE, as in curl; certificates are verified unless -k is given.
The flags of curl for a request work, too, such as --json, -F, -u, -G and --resolve.
These letters do not mean what they mean in curl: -c -D -f -i -m -N -n -o -r -t -T -w.
-d adds no content-type; --data-binary does, as in curl.

h2surge writes the report to standard output, and progress, warnings and errors to
standard error. The first interrupt (Ctrl-C) stops sending and waits for the responses
in flight. The second one does not wait. Both write the report. On a terminal, + and -
change the rate of the current stage, p pauses and resumes, q interrupts. SIGHUP reads
the manifest again and applies its rates; nothing else in it may have changed.

` + command.ExitCodes

const runExample = `  h2surge run -f loadtest.yaml
  h2surge run loadtest.yaml --target-url http://127.0.0.1:8080 -o json
  h2surge run config/samples/quickstart.yaml --demo
  h2surge run loadtest.yaml --live
  h2surge run -n 100000 -c 200 -m 100 http://127.0.0.1:8080/
  h2surge run -D 10s --warm-up-time 2s --rps 5000 -c 4 -m 32 \
      -H 'content-type: application/json' -d @body.json http://127.0.0.1:8080/items
  h2surge run -n 10 --rps 0.5 -X DELETE http://127.0.0.1:8080/items/1
  h2surge run -n 10000 -c 10 --cacert ca.pem --cert me.pem --key me-key.pem \
      https://pcf.example/status https://pcf.example/info
  h2surge run -n 100 -u user:password --json '{"price":5}' http://127.0.0.1:8080/items
  h2surge run -n 10000 -c 100 --h1 --no-keepalive http://127.0.0.1:8080/
  h2surge run -D 1m --rps 100 http://127.0.0.1:8080/ --dry-run > loadtest.yaml`

// linked are the parts of a run that tests replace.
type linked struct {
	newEngine  func(plan *rv.Plan, cpus []int, listen string) (engine, error)
	newTrial   func(plan *rv.Plan, trial *trial.Config, listen string) (engine, error)
	interrupts func(rereads bool, last func()) (<-chan os.Signal, func())
	keyboard   func(io.Reader, io.Writer) (<-chan byte, func())
	allowed    func() []int
}

// runOptions are the flags of "h2surge run".
type runOptions struct {
	source source
	form   urlForm
	output string
	// outputFiles are the files of --output-file.
	outputFiles []string
	push        report.Push
	full        report.Full
	listen      listenAddress
	// histogram adds the distribution of response times to the report.
	histogram bool
	demo      bool
	quiet     bool
	live      LiveFlags
	// keep serves the live page after the end.
	keep bool
}

func newRunCommand(parts linked) *cobra.Command {
	return (&runOptions{}).command(&cobra.Command{
		Use:     "run {-f FILE | FILE | URL...} [flags]",
		Short:   "Run a load test on this machine",
		Long:    runLong,
		Example: runExample,
	}, parts)
}

// command adds the flags to a command that runs a LoadTest.
func (o *runOptions) command(cmd *cobra.Command, parts linked) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.complete(cmd, args); err != nil {
			return err
		}
		return o.run(cmd, parts)
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	AddFilename(flags, &o.source.files)
	flags.StringVarP(&o.output, "output", "o", command.OutputText, report.OutputUsage)
	o.full.Register(flags)
	flags.StringArrayVar(&o.outputFiles, "output-file", nil, report.OutputFileUsage)
	o.push.Register(flags, report.SendsRun)
	flags.BoolVar(&o.histogram, "histogram", false, "add the distribution of response times to the text report")
	addTargets(flags, &o.source, &o.demo)
	o.source.idle.register(flags)
	o.listen.register(flags)
	flags.BoolVar(&o.source.dryRun, "dry-run", false,
		"check everything, print the LoadTest as YAML (-o json: as JSON), send nothing")
	o.live.RegisterAddress(flags, flagLive,
		"serve the HTML report while the test runs, on this machine at `ADDRESS`: PORT or HOST:PORT (--live=8089; without it, any free port)")
	flags.Lookup(flagLive).NoOptDefVal = livepage.Loopback
	flags.BoolVar(&o.keep, flagLive+"-keep", false, "serve the final report until an interrupt")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "do not show progress")
	o.form.register(flags)
	report.CompleteOutput(cmd)
	command.CompleteFlag(cmd, "idle-strategy", idleStrategies...)
	command.CompleteFlag(cmd, "connection-choice", string(v1alpha1.ConnectionChoiceSpread),
		string(v1alpha1.ConnectionChoiceBatch))
	command.CompleteFlagFunc(cmd, "target-url", o.source.completeNames(targetPrefixes, cobra.ShellCompDirectiveNoSpace))
	cmd.SetUsageFunc(o.usage)
	return cmd
}

// flagLive is the name of the flag for a live page.
const flagLive = "live"

// usage lists the flags of the URL form apart from the others.
func (o *runOptions) usage(cmd *cobra.Command) error {
	common := pflag.NewFlagSet("", pflag.ContinueOnError)
	common.SortFlags = false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if o.form.own.Lookup(f.Name) == nil {
			common.AddFlag(f)
		}
	})
	_, err := fmt.Fprintf(cmd.OutOrStderr(),
		"Usage:\n  %s -f FILE [flags]\n  %s FILE [flags]\n  %s [flags] URL...\n\nExamples:\n%s\n\nFlags:\n%s\nFlags with a URL:\n%s",
		cmd.CommandPath(), cmd.CommandPath(), cmd.CommandPath(), strings.ReplaceAll(cmd.Example, "  h2surge ",
			"  "+cmd.Root().DisplayName()+" "), common.FlagUsagesWrapped(command.UsageWidth),
		o.form.own.FlagUsagesWrapped(command.UsageWidth))
	return err
}

// complete checks the flags against each other.
func (o *runOptions) complete(cmd *cobra.Command, args []string) error {
	o.source.form, o.source.stdin = &o.form, cmd.InOrStdin()
	if err := o.source.arguments(args); err != nil {
		return err
	}
	if err := o.source.check(o.form.given()); err != nil {
		return err
	}
	if err := o.source.checkDryRun(); err != nil {
		return err
	}
	if o.source.dryRun {
		if !cmd.Flags().Changed("output") {
			o.output = command.OutputYAML
		}
		if err := command.OneOf(o.output, command.OutputYAML, command.OutputJSON); err != nil {
			return err
		}
	}
	if err := o.full.Check(o.output); err != nil {
		return err
	}
	switch {
	case o.demo && len(o.source.files) == 0:
		return command.Usagef("--demo: allowed only with a manifest (-f)")
	case o.histogram && o.output != command.OutputText && o.output != report.H2load:
		return command.Usagef("--histogram: allowed only with -o text and -o h2load; the other formats have the distribution")
	case o.live.Address == "" && (o.keep || o.live.Remote):
		return command.Usagef("--live-keep, --live-remote: allowed only with --live")
	case o.source.dryRun && o.live.Address != "":
		return command.Usagef("--live: not allowed with --dry-run")
	case o.source.dryRun && (o.demo || len(o.outputFiles) > 0 || o.push.Given()):
		return command.Usagef("--dry-run: not allowed with --demo, --output-file or --otlp-endpoint")
	}
	return o.push.CheckEnvironment(cmd.ErrOrStderr())
}

// run runs the test, or prints its LoadTest.
func (o *runOptions) run(cmd *cobra.Command, parts linked) (err error) {
	if len(o.outputFiles) == 0 && !o.push.Given() && command.Lost(cmd.OutOrStdout()) {
		return command.Usagef("standard output: is closed, or is /dev/null opened for reading and writing, so the report would be lost; redirect it to a file, use --output-file, or open /dev/null for writing only")
	}
	tune.Heap()
	stderr := cmd.ErrOrStderr()
	allowed := parts.allowed()
	var d *demo
	if o.demo {
		var on int
		on, allowed = divide(allowed)
		if d, err = startDemo(on); err != nil {
			return command.Failf("%v", err)
		}
		defer d.close()
		o.source.demo = d.url
	}
	j, err := o.source.compile()
	if err != nil {
		return err
	}
	if o.form.search != nil && j.plan.Search == nil {
		return command.Usagef("-f: the manifest has no spec.search; h2surge run runs it")
	}
	if o.source.dryRun {
		writeWarnings(stderr, j.warnings)
		return writeLoadTest(cmd.OutOrStdout(), o.output, j.loadTest)
	}
	files, err := report.OpenFiles(o.outputFiles)
	if err != nil {
		return err
	}
	defer files.Discard()
	j.cpus = len(allowed)
	share := split.Whole(j.plan)
	placed := place(j.plan, &share, j.threads, allowed)
	writeWarnings(stderr, append(j.warnings, placed.warnings...))
	page := &livePage{job: j, windows: build.NewWindows(j.plan, 1), shown: o.progress(j.plan, stderr)}
	if o.live.Address != "" {
		if page.server, err = o.live.Listen(flagLive, stderr); err != nil {
			return err
		}
		defer page.close()
		page.begin()
	}
	c, err := o.execute(j, share, placed.cpus, parts, page)
	if err != nil {
		return command.Failed(err)
	}
	if d != nil {
		if err := d.compare(c.report, stderr); err != nil {
			return command.Failf("%v", err)
		}
	}
	if page.server != nil {
		page.server.Finish(c.report)
	}
	err = o.publish(cmd.Context(), c, files, cmd.OutOrStdout())
	if o.keep {
		page.keep(parts, stderr)
	}
	return err
}

// execute sends the load, and makes of what came back a conclusion.
func (o *runOptions) execute(j *job, share rv.Share, cpus []int, parts linked, page *livePage) (*conclusion, error) {
	tune.Workers(len(cpus))
	shown, limits := page.shown, newLimits(j.plan)
	keys, restore := o.keys(parts, shown)
	defer restore()
	wishes, release := parts.interrupts(o.source.reread(), restore)
	defer release()
	plan, dir, err := materialise(j.plan, j.files)
	if err != nil {
		return nil, err
	}
	defer remove(dir) // not before the end: secrets of token endpoints are read again
	e, err := parts.newEngine(plan, cpus, o.listen.String())
	if err != nil {
		return nil, j.refused(err, dir) // it only reads the plan and the files that the plan names
	}
	defer e.Close() //nolint:errcheck // never fails
	l := newLive(e, share, j, shown)
	l.changed = page.change
	if o.source.reread() {
		l.name, l.reread = strings.Join(o.source.files, ", "), o.source.compile
	}
	o.push.Follow(plan, e.Snapshot)
	defer o.push.Stop()
	x := &execution{
		engine: e, share: share, connect: connectTimeout(j.plan), setup: j.plan.SetupWithin(),
		signals: wishes, keys: keys, live: l, every: func(s *rv.Snapshot) {
			limits.add(s)
			page.every(s, limits)
			shown.every(s)
			o.push.Changes(shown.warn)
		},
		aborts: limits.aborts,
		search: newSearching(j, l),
	}
	shown.begin()
	s, err := x.run()
	shown.end()
	o.push.Changes(shown.warn)
	if err != nil {
		return nil, err
	}
	page.mu.Lock()
	defer page.mu.Unlock()
	return conclude(j, s, page.windows, limits, x.search.result(), x.interrupted > 0, time.Now())
}

func (o *runOptions) progress(plan *rv.Plan, stderr io.Writer) *progress {
	p := &progress{w: stderr, plan: plan, line: render.ProgressLine, terminal: command.IsTerminal(stderr), errs: stderr}
	if o.quiet {
		p.w, p.terminal = io.Discard, false
	}
	return p
}

// keys are those of the terminal, and a function that gives the terminal back. With -q there are no keys, because
// nothing would show what they do.
func (o *runOptions) keys(parts linked, shown *progress) (<-chan byte, func()) {
	if o.quiet {
		return nil, func() {}
	}
	keys, restore := parts.keyboard(o.source.stdin, shown.errs)
	if keys != nil {
		shown.hint = terminal.KeysHint
	}
	return keys, restore
}

// connectTimeout is that of the slowest target, its ramp included. The runner checks the queries of observations in the
// same time.
func connectTimeout(plan *rv.Plan) time.Duration {
	var limit time.Duration
	for i := range plan.Targets {
		limit = max(limit, plan.Targets[i].ConnectWithin())
	}
	if len(plan.Observe) > 0 {
		limit += observe.CheckTimeout
	}
	return limit
}

// publish writes the report to all outputs, and ends with the verdict's exit code.
func (o *runOptions) publish(ctx context.Context, c *conclusion, files report.Files, stdout io.Writer) error {
	err := command.All(files.Save(c.report), o.print(stdout, c.report), o.push.Send(ctx, c.report))
	if err != nil || c.code == 0 {
		return err
	}
	return command.Exit(c.code, c.shown(report.Reported(stdout, o.output))...)
}

// print writes the report to standard output.
func (o *runOptions) print(stdout io.Writer, r *rv.Report) error {
	if err := o.full.Print(stdout, o.output, r, o.outputFiles); err != nil || !o.histogram {
		return err
	}
	return report.Histogram(stdout, r)
}
