package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

const renderLong = `Print the requests of a manifest without sending them: the setup chains, some instances
of the chains in the order in which they start, and the teardown chains. For each step,
h2surge prints the method, the URL, all header fields in the order in which they would
be sent, and the body.

There are no responses, so a captured value is printed as <capture NAME of step STEP>.
Values of Secrets are printed as <secret NAME/KEY> and <authorization of target NAME>,
unless --show-secrets is given. A script that makes requests gets an empty response with
status 200 for its previous request.

The values are those of a single worker. "run" distributes the values to all workers.
The same manifest gives the same output each time, except for the time: see --at.`

// Formats of "h2surge render".
const outputCurl = "curl"

// renderOptions are the flags of "h2surge render".
type renderOptions struct {
	source      source
	count       int
	shard       int
	step        string
	output      string
	showSecrets bool
	at          string
	wall        int64
}

func newRenderCommand() *cobra.Command {
	o := &renderOptions{}
	cmd := &cobra.Command{
		Use:   "render {-f FILE | FILE}",
		Short: "Print the requests of a manifest without sending them",
		Long:  renderLong,
		Example: `  h2surge render loadtest.yaml
  h2surge render -f loadtest.yaml --count 100 --step create -o json
  h2surge render loadtest.yaml --count 1 -o curl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.source.files, o.source.stdin = append(o.source.files, args...), cmd.InOrStdin()
			if len(o.source.files) == 0 {
				return Usagef("-f FILE: the argument is missing")
			}
			whole := !cmd.Flags().Changed("shard")
			if err := o.complete(whole); err != nil {
				return err
			}
			return o.run(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	AddFilename(flags, &o.source.files)
	flags.IntVar(&o.count, "count", 5, "`number` of chain instances, in addition to setup and teardown")
	flags.IntVar(&o.shard, "shard", 0, "print the requests of one shard: its `number`, from 0")
	flags.StringVar(&o.step, "step", "", "print only the steps with this `name`")
	flags.StringVarP(&o.output, "output", "o", OutputText, "`format`: text, json or curl")
	CompleteFlag(cmd, "output", renderFormats...)
	completeFlag(cmd, "step", o.source.completeNames(stepNames, 0))
	flags.BoolVar(&o.showSecrets, "show-secrets", false, "print the values of Secrets; OAuth 2.0 tokens are not fetched")
	flags.StringVar(&o.at, "at", "", "`time` to use instead of now, such as 2026-01-02T15:04:05Z")
	return cmd
}

var renderFormats = []string{OutputText, OutputJSON, outputCurl}

// allShards is the value of --shard that is not given.
const allShards = -1

// maxRendered bounds --count: all is kept until it is printed.
const maxRendered = 100_000

// whole: all shards' parts are wanted.
func (o *renderOptions) complete(whole bool) error {
	if whole {
		o.shard = allShards
	}
	if err := OneOf(o.output, renderFormats...); err != nil {
		return err
	}
	switch {
	case o.count < 0 || o.count > maxRendered:
		return Usagef("--count: must be between 0 and %d", maxRendered)
	case !whole && o.shard < 0:
		return Usagef("--shard: must not be negative")
	}
	o.wall = time.Now().UnixNano()
	if o.at != "" {
		at, err := time.Parse(time.RFC3339Nano, o.at)
		if err != nil {
			return Usagef("--at: must be a time such as 2026-01-02T15:04:05Z")
		}
		o.wall = at.UnixNano()
	}
	return nil
}

func (o *renderOptions) run(w io.Writer) error {
	r, err := o.newRenderer()
	if err != nil {
		return err
	}
	r.run(o.count)
	if err := o.write(w, r.out); err != nil {
		return err
	}
	for i := range r.out {
		if r.out[i].Error != "" { // it stands where the request would be
			return errNotRendered
		}
	}
	return nil
}

func (o *renderOptions) write(w io.Writer, all []rendered) error {
	if o.output == OutputJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if all == nil {
			all = []rendered{}
		}
		return e.Encode(all)
	}
	for i := range all {
		text := all[i].text()
		if o.output == outputCurl {
			text = all[i].curl()
		}
		if i > 0 {
			text = "\n" + text
		}
		if _, err := fmt.Fprint(w, text); err != nil {
			return err
		}
	}
	return nil
}
