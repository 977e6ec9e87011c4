package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/ab"
	"github.com/h2surge/h2surge/internal/convert/h2load"
	"github.com/h2surge/h2surge/internal/convert/h2loadrunner"
	"github.com/h2surge/h2surge/internal/convert/har"
	"github.com/h2surge/h2surge/internal/convert/maock"
	"github.com/h2surge/h2surge/internal/convert/openapi"
)

func (o *convertOptions) h2loadrunner() *cobra.Command {
	return &cobra.Command{
		Use:   "h2loadrunner CONFIG.json",
		Short: "Convert a configuration of h2loadrunner",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := input(cmd, args[0])
			if err != nil {
				return err
			}
			var c converted
			c.out, c.warnings, err = h2loadrunner.Convert(config, o.named(stem(args[0]), beside(args[0])))
			return o.finish(cmd, c, err)
		},
	}
}

func (o *convertOptions) h2load() *cobra.Command {
	return o.commandLine("h2load", "Convert a command line of h2load", h2load.Convert)
}

func (o *convertOptions) ab() *cobra.Command {
	return o.commandLine("ab", "Convert a command line of ab", ab.Convert)
}

// commandLine is a conversion of arguments; the tool's own name may stand before them.
func (o *convertOptions) commandLine(tool, short string, do func([]string, convert.Options) ([]byte, []string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   tool + " -- FLAGS URL",
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && filepath.Base(args[0]) == tool {
				args = args[1:]
			}
			read := func(name string) ([]byte, error) { return readFile(cmd.InOrStdin(), "", name) }
			var c converted
			var err error
			c.out, c.warnings, err = do(args, o.named(tool, read))
			return o.finish(cmd, c, err)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usagef("%v; the flags of %s come after --", err, tool)
	})
	return cmd
}

func (o *convertOptions) har() *cobra.Command {
	think := false
	cmd := &cobra.Command{
		Use:   "har FILE",
		Short: "Convert an HTTP archive (HAR), as browsers save it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			archive, err := input(cmd, args[0])
			if err != nil {
				return err
			}
			var c converted
			c.out, c.warnings, err = har.Convert(archive, har.Options{Options: o.named(stem(args[0]), nil), Think: think})
			return o.finish(cmd, c, err)
		},
	}
	cmd.Flags().BoolVar(&think, "think", false, "wait between requests as the user did")
	return cmd
}

func (o *convertOptions) openAPI() *cobra.Command {
	more := openapi.Options{}
	cmd := &cobra.Command{
		Use:   "openapi SPEC.yaml",
		Short: "Convert an OpenAPI description (3.0 or 3.1)",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			description, err := input(cmd, args[0])
			if err != nil {
				return err
			}
			more.Options, more.File = o.named(stem(args[0]), beside(args[0])), filepath.Base(args[0])
			var c converted
			c.out, c.warnings, err = openapi.Convert(description, more)
			return o.finish(cmd, c, err)
		},
	}
	cmd.Flags().StringVar(&more.Target, "target", "", "`URL` of the service (default the description's first server)")
	cmd.Flags().StringArrayVar(&more.Operations, "operation", nil, "operationId, or `'GET /path'`, of what to convert (default all); may be repeated")
	cmd.Flags().BoolVar(&more.Resources, "resources", false, "chains that create, read, change and delete a resource, in place of one for each operation")
	return cmd
}

func (o *convertOptions) maock() *cobra.Command {
	return &cobra.Command{
		Use:   "maock CONFIG.json",
		Short: "Convert a configuration of maock into rules for h2surge target",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := input(cmd, args[0])
			if err != nil {
				return err
			}
			var c converted
			c.out, c.warnings, err = maock.Convert(config, filepath.Dir(args[0]))
			return o.finish(cmd, c, err)
		},
	}
}
