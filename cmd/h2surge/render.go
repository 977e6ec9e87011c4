package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

const renderLong = `Print the requests of a manifest as they would be sent, without sending them: for some
instances of its chains, in the order in which they begin, each step with its method
and URL, all header fields in the order of the wire, and the body. Setup and teardown
chains are there too.

Nothing is connected to and no response comes, so that what is captured is shown as
<capture NAME of step STEP>. What Secrets hold is shown as <secret NAME/KEY> and
<authorization of target NAME>, unless --show-secrets is given; a number stands for it
while requests are made. Scripts that make requests get an empty previous response of
status 200.

Values are those of a single worker: "run" deals them out to its workers. The same
manifest gives the same output each time, but for the time: see --at.`

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
		Use:   "render FILE",
		Short: "Print the requests of a manifest without sending them",
		Long:  renderLong,
		Example: `  h2surge render loadtest.yaml
  h2surge render loadtest.yaml --count 100 --step create -o json
  h2surge render loadtest.yaml --count 1 -o curl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.source.file, o.source.stdin = args[0], cmd.InOrStdin()
			whole := !cmd.Flags().Changed("shard")
			if err := o.complete(whole); err != nil {
				return err
			}
			return o.run(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&o.count, "count", 5, "`number` of chain instances beside setup and teardown")
	flags.IntVar(&o.shard, "shard", 0, "only the part of the shard with this `number`, from 0")
	flags.StringVar(&o.step, "step", "", "only the steps with this `name`")
	flags.StringVarP(&o.output, "output", "o", outputText, "`format`: text, json or curl")
	flags.BoolVar(&o.showSecrets, "show-secrets", false, "show what Secrets hold; OAuth 2.0 tokens are not fetched")
	flags.StringVar(&o.at, "at", "", "`time` instead of now, such as 2026-01-02T15:04:05Z")
	return cmd
}

// allShards is the value of --shard that is not given.
const allShards = -1

// maxRendered bounds --count: all is kept until it is printed.
const maxRendered = 100_000

// whole: all shards' parts are wanted.
func (o *renderOptions) complete(whole bool) error {
	if whole {
		o.shard = allShards
	}
	switch {
	case o.output != outputText && o.output != outputJSON && o.output != outputCurl:
		return usagef("-o: %q is not possible; text, json and curl are", o.output)
	case o.count < 0 || o.count > maxRendered:
		return usagef("--count: must be between 0 and %d", maxRendered)
	case !whole && o.shard < 0:
		return usagef("--shard: must not be negative")
	}
	o.wall = time.Now().UnixNano()
	if o.at != "" {
		at, err := time.Parse(time.RFC3339Nano, o.at)
		if err != nil {
			return usagef("--at: must be a time such as 2026-01-02T15:04:05Z")
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
		return failf("writing the requests: %v", err)
	}
	for i := range r.out {
		if r.out[i].Error != "" { // it stands where the request would be
			return errNotRendered
		}
	}
	return nil
}

func (o *renderOptions) write(w io.Writer, all []rendered) error {
	if o.output == outputJSON {
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
