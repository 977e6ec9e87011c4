package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

const tryLong = `Send one instance of each chain of a manifest, and print each request and each response.

The setup chains run first, then the load chains, then the teardown chains, one after
another in the order of the manifest. For each step, the output has the request (lines
with >), the response (lines with <), the captured values, and the result of each check.
The first line of a step that failed says why.

Requests, connections, retries, repetitions, conditions and think times are those of
"run". A load chain that fails does not stop the others; a setup chain that fails does.
Rates and startDelay have no effect.

With --dry-run, no request is sent. A value from a response is shown by its name, as in
<capture session of step create>. Conditions on such values are taken to be true, and a
script gets an empty response with status 200 for its previous request.

Secrets are masked. Bodies are cut after 2048 bytes unless --full is given.

Exit codes:
  0  passed: every step succeeded
  1  bad manifest or command line; nothing was sent
  2  failed: a step failed
  4  interrupted
  5  could not run: the target cannot be reached, or no request got a response`

const tryExample = `  h2surge try -f loadtest.yaml
  h2surge try -f loadtest.yaml --chain session --target-url http://127.0.0.1:8080
  h2surge try -f config/samples/quickstart.yaml --demo -o json
  h2surge try loadtest.yaml --dry-run -o curl`

// tryOptions are the flags of "h2surge try".
type tryOptions struct {
	source      source
	chains      []string
	output      string
	demo        bool
	full        bool
	showSecrets bool
	listen      listenAddress
}

// outputCurl is a format: a command of curl for each request.
const outputCurl = "curl"

var tryFormats = append(slices.Clone(command.DocumentFormats), outputCurl)

func newTryCommand(parts linked) *cobra.Command {
	o := &tryOptions{}
	cmd := &cobra.Command{
		Use:     "try {-f FILE | FILE}",
		Short:   "Send one instance of each chain and show every exchange",
		Long:    tryLong,
		Example: tryExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(cmd, args); err != nil {
				return err
			}
			return o.run(cmd, parts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	AddFilename(flags, &o.source.files)
	flags.StringArrayVar(&o.chains, "chain", nil,
		"run only the load chain with this `name`, and all setup and teardown chains; may be repeated")
	addTargets(flags, &o.source, &o.demo)
	flags.BoolVar(&o.source.dryRun, "dry-run", false, "print the requests and send nothing")
	o.listen.register(flags)
	flags.StringVarP(&o.output, "output", "o", command.OutputText, "`format`: text, json, yaml or curl")
	command.CompleteFlag(cmd, "output", tryFormats...)
	command.CompleteFlagFunc(cmd, "chain", o.source.completeNames(loadChains, 0))
	command.CompleteFlagFunc(cmd, "target-url", o.source.completeNames(targetPrefixes, cobra.ShellCompDirectiveNoSpace))
	flags.BoolVar(&o.full, "full", false, "show bodies whole")
	flags.BoolVar(&o.showSecrets, "show-secrets", false, "do not mask secrets")
	return cmd
}

func (o *tryOptions) complete(cmd *cobra.Command, args []string) error {
	o.source.stdin = cmd.InOrStdin()
	o.source.files = append(o.source.files, args...)
	for _, name := range o.source.files {
		if strings.Contains(name, "://") {
			return command.Usagef("%s: try reads a manifest; to send requests to a URL, use h2surge run -n 1 URL", name)
		}
	}
	if len(o.source.files) == 0 {
		return command.Usagef("-f FILE: the argument is missing")
	}
	if err := o.source.checkDryRun(); err != nil {
		return err
	}
	return command.OneOf(o.output, tryFormats...)
}

func (o *tryOptions) run(cmd *cobra.Command, parts linked) error {
	if o.demo {
		d, err := startDemo(-1)
		if err != nil {
			return command.Failf("%v", err)
		}
		defer d.close()
		o.source.demo = d.url
	}
	j, err := o.source.compile()
	if err != nil {
		return err
	}
	writeWarnings(cmd.ErrOrStderr(), j.warnings)
	chains, err := chosen(j.plan, o.chains)
	if err != nil {
		return err
	}
	t := newTried(j, o.full || o.output == outputCurl, o.showSecrets)
	switch o.output {
	case command.OutputText:
		t.each = func(e *triedExchange) { fmt.Fprint(cmd.OutOrStdout(), mask.Visible(e.text())+"\n") }
	case outputCurl:
		t.each = func(e *triedExchange) { fmt.Fprint(cmd.OutOrStdout(), e.curl()+"\n") }
	}
	var problem string
	if o.source.dryRun {
		err = t.dryRun(chains, time.Now())
	} else {
		problem, err = t.run(chains, o.listen.String(), parts)
	}
	if err != nil {
		return err
	}
	if err := o.write(cmd.OutOrStdout(), t.result(chains, problem)); err != nil {
		return err
	}
	return t.exit(problem)
}

// chosen are the load chains to run, as indices into the plan; no names choose all.
func chosen(p *rv.Plan, names []string) (chains []int, err error) {
	wanted, all := map[string]bool{}, []string{}
	for _, name := range names {
		wanted[name] = true
	}
	for i := range p.Chains {
		c := &p.Chains[i]
		if c.Phase != rv.PhaseLoad {
			continue
		}
		all = append(all, c.Name)
		if len(names) == 0 || wanted[c.Name] {
			chains = append(chains, i)
		}
		delete(wanted, c.Name)
	}
	for _, name := range names {
		if wanted[name] {
			return nil, command.Usagef("--chain: there is no load chain %q; allowed: %s", name, strings.Join(all, ", "))
		}
	}
	return chains, nil
}

func (o *tryOptions) write(w io.Writer, r *triedResult) error {
	switch {
	case o.output == command.OutputText && !o.source.dryRun:
		_, err := fmt.Fprint(w, mask.Visible(r.text()))
		return err
	case o.output == command.OutputText, o.output == outputCurl:
		return nil
	}
	return command.WriteDocument(w, o.output, r)
}

// exit is nil when every step succeeded. The output has the failures already; problem is what it has not.
func (t *tried) exit(problem string) error {
	switch {
	case t.interrupted:
		return command.Exit(verdict.ExitStopped, "interrupted")
	case problem != "" && t.failed == 0:
		return command.Failf("%s", problem)
	case t.failed > 0 && t.dry: // the output has the error of the script
		return command.Exit(verdict.ExitUsage)
	case t.failed > 0 && t.answered == 0:
		return command.Exit(verdict.ExitError)
	case t.failed > 0:
		return command.Exit(verdict.ExitFailed)
	}
	return nil
}
