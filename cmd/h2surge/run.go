package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/runner/export"
	"github.com/h2surge/h2surge/runner/tune"
)

const runLong = `Run a load test on this machine, without a cluster.

With -f, the manifest is the one that would be applied to a cluster: one LoadTest and
the ConfigMaps and Secrets it refers to. All its shards run in this process, on as many
pinned workers as there are CPUs for. --target-url says where the targets are, when not
where the manifest says.

With URLs, the flags are those of h2load: http:// means HTTP/2 without TLS and with
prior knowledge (h2c), and https:// what the server chooses of HTTP/2 and HTTP/1.1, as
there. Two things differ: --rps is the rate of the whole test, where h2load's is per
connection; and certificates are verified, which h2load never does (--insecure).

The report goes to standard output; progress, warnings and errors go to standard error.
An interrupt (Ctrl-C) ends sending and awaits the responses in flight; a second one ends
at once. Both write the report. On a terminal there are keys: + and - change the rate of
the stage in force, p pauses and goes on, q is an interrupt. SIGHUP reads the file of -f
again and puts its rates in force; nothing else of it may have changed.

` + exitCodes

const runExample = `  h2surge run -f loadtest.yaml
  h2surge run -f loadtest.yaml --target-url http://127.0.0.1:8080 -o json
  h2surge run -f config/samples/quickstart.yaml --demo
  h2surge run -n 100000 -c 200 -m 100 http://127.0.0.1:8080/
  h2surge run -D 10s --warm-up-time 2s --rps 5000 -c 4 -m 32 \
      -H 'content-type: application/json' -d body.json http://127.0.0.1:8080/items
  h2surge run -n 10000 -c 10 --cacert ca.pem --cert me.pem --key me-key.pem \
      https://pcf.example/status https://pcf.example/info
  h2surge run -n 10000 -c 100 --h1 --no-keepalive http://127.0.0.1:8080/`

// linked are the parts of a run that tests replace.
type linked struct {
	newEngine  func(plan *rv.Plan, workers int, cpus []int) (engine, error)
	interrupts func(signals) (<-chan os.Signal, func())
	keyboard   func(io.Reader, io.Writer) (<-chan byte, func())
	allowed    func() []int
}

// runOptions are the flags of "h2surge run".
type runOptions struct {
	source source
	form   urlForm
	output string
	report string
	// histogram adds the distribution of response times to the report.
	histogram bool
	demo      bool
	quiet     bool
}

func newRunCommand(parts linked) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:     "run {-f FILE | URL...} [flags]",
		Short:   "Run a load test on this machine",
		Long:    runLong,
		Example: runExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(cmd, args); err != nil {
				return err
			}
			return o.run(cmd, parts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&o.source.file, "filename", "f", "", "`file` with the manifest, YAML or JSON; - is standard input")
	flags.StringVarP(&o.output, "output", "o", outputText, "`format` of the report on standard output: text, json, html, or h2load for text as h2load has it")
	flags.StringVar(&o.report, "report", "", "`file` to save the report in: as a page when its name ends in .html, as text when in .txt, else as JSON; compressed when .gz follows")
	flags.BoolVar(&o.histogram, "histogram", false, "show the distribution of response times below the report")
	flags.StringArrayVar(&o.source.overrides, "target-url", nil, "`[NAME=]URL` of the target NAME, else of every target, in place of the manifest's; may be repeated")
	flags.BoolVar(&o.demo, "demo", false, "start h2surge's own target for this run and point all targets at it")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	o.form.register(flags)
	cmd.SetUsageFunc(o.usage)
	return cmd
}

// usageWidth is where help is wrapped, in columns.
const usageWidth = 88

// usage tells the flags of the URL form apart.
func (o *runOptions) usage(cmd *cobra.Command) error {
	common := pflag.NewFlagSet("", pflag.ContinueOnError)
	common.SortFlags = false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if o.form.own.Lookup(f.Name) == nil {
			common.AddFlag(f)
		}
	})
	_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s -f FILE [flags]\n  %s [flags] URL...\n\nExamples:\n%s\n\nFlags:\n%s\nFlags with a URL:\n%s",
		cmd.CommandPath(), cmd.CommandPath(), strings.ReplaceAll(cmd.Example, "  h2surge ", "  "+cmd.Root().DisplayName()+" "), common.FlagUsagesWrapped(usageWidth), o.form.own.FlagUsagesWrapped(usageWidth))
	return err
}

// complete checks the flags against each other.
func (o *runOptions) complete(cmd *cobra.Command, args []string) error {
	o.source.form, o.source.stdin = &o.form, cmd.InOrStdin()
	if err := checkOutput(o.output); err != nil {
		return err
	}
	if err := o.source.check(args, o.form.given()); err != nil {
		return err
	}
	o.source.urls = args
	if o.demo && o.source.file == "" {
		return usagef("--demo goes with a manifest (-f)")
	}
	if o.histogram && (o.output == outputJSON || o.output == outputHTML) {
		return usagef("--histogram: goes with the text formats; the other reports have the distribution anyway")
	}
	return nil
}

// run does all that is done once the flags are known to be right.
func (o *runOptions) run(cmd *cobra.Command, parts linked) (err error) {
	stderr := cmd.ErrOrStderr()
	allowed := parts.allowed()
	var d *demo
	if o.demo {
		var on int
		on, allowed = divide(allowed)
		if d, err = startDemo(on); err != nil {
			return failf("%v", err)
		}
		defer d.close()
		o.source.demo = d.url
	}
	j, err := o.source.compile()
	if err != nil {
		return err
	}
	var file *reportFile
	if o.report != "" {
		if file, err = openReportFile(o.report); err != nil {
			return usagef("--report: %v", err)
		}
		defer file.discard()
	}
	share := shard.Whole(j.plan)
	placed := place(j.plan, &share, j.threads, allowed)
	for _, warning := range append(j.warnings, placed.warnings...) {
		fmt.Fprintln(stderr, "warning: "+oneLine(warning))
	}
	c, err := o.execute(j, share, placed.cpus, parts, stderr)
	if usage := (*exitError)(nil); errors.As(err, &usage) {
		return usage
	} else if err != nil {
		return failf("%v", err)
	}
	if d != nil {
		if err := d.compare(c.report, stderr); err != nil {
			return failf("%v", err)
		}
	}
	return o.publish(c, file, cmd.OutOrStdout())
}

// execute sends the load, and makes of what came back a conclusion.
func (o *runOptions) execute(j *job, share rv.Share, cpus []int, parts linked, stderr io.Writer) (*conclusion, error) {
	tune.Process(len(cpus))
	plan, removeFiles, err := materialise(j.plan, j.files)
	if err != nil {
		return nil, err
	}
	defer removeFiles() // not before the end: secrets of token endpoints are read again
	if errs := certificateErrors(plan); len(errs) > 0 {
		return nil, j.mistakes(errs)
	}
	e, err := parts.newEngine(plan, len(cpus), cpus)
	if err != nil {
		return nil, usagef("%v", err) // it only reads the plan and the files that the plan names
	}
	defer e.Close() //nolint:errcheck // never fails
	shown, windows := o.progress(j.plan, stderr), result.NewWindows(j.plan, 1)
	l := newLive(e, share, j, shown)
	l.bent = windows.Change
	if o.source.file != "" && o.source.file != "-" {
		l.name, l.reread = o.source.file, o.source.compile
	}
	keys, restore := o.keys(parts, shown)
	defer restore()
	wishes, release := parts.interrupts(signals{rereads: l.reread != nil, last: restore})
	defer release()
	x := &execution{
		engine: e, share: share, connect: connectTimeout(j.plan), setup: j.plan.SetupWithin(),
		signals: wishes, keys: keys, live: l, every: func(s *rv.Snapshot) {
			_ = windows.Add(s) // what this process has encoded it can read
			shown.every(s)
		},
	}
	shown.begin()
	s, err := x.run()
	shown.end()
	if err != nil {
		return nil, err
	}
	return conclude(j, s, windows, x.interrupted > 0, time.Now())
}

func (o *runOptions) progress(plan *rv.Plan, stderr io.Writer) *progress {
	p := &progress{w: stderr, plan: plan, line: export.ProgressLine, terminal: isTerminal(stderr), errs: stderr}
	if o.quiet {
		p.w, p.terminal = io.Discard, false
	}
	return p
}

// keys are those of the terminal, and how to give it back. Without progress nothing would tell what
// they do.
func (o *runOptions) keys(parts linked, shown *progress) (<-chan byte, func()) {
	if o.quiet {
		return nil, func() {}
	}
	keys, restore := parts.keyboard(o.source.stdin, shown.errs)
	if keys != nil {
		shown.hint = keysHint
	}
	return keys, restore
}

// connectTimeout is that of the slowest target, its ramp included.
func connectTimeout(plan *rv.Plan) time.Duration {
	var limit time.Duration
	for i := range plan.Targets {
		limit = max(limit, plan.Targets[i].ConnectWithin())
	}
	return limit
}

// publish writes the report, and ends with the verdict's exit code.
func (o *runOptions) publish(c *conclusion, file *reportFile, stdout io.Writer) error {
	if file != nil {
		if err := file.save(func(w io.Writer) error { return writeReport(w, file.format(), c.report) }); err != nil {
			return failf("%v", err)
		}
	}
	if err := writeReport(stdout, o.output, c.report); err != nil {
		return failf("writing the report: %v", err)
	}
	if o.histogram {
		if err := writeHistogram(stdout, c.report); err != nil {
			return failf("writing the histogram: %v", err)
		}
	}
	if c.code == 0 {
		return nil
	}
	return &exitError{code: c.code, lines: c.lines}
}
