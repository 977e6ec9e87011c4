package convert

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/curl"
	"github.com/h2surge/h2surge/internal/convert/h2loadrunner"
	"github.com/h2surge/h2surge/internal/convert/har"
	"github.com/h2surge/h2surge/internal/convert/maock"
	"github.com/h2surge/h2surge/internal/convert/openapi"
)

// tools are the commands, one for each tool.
func (o *convertOptions) tools() []*cobra.Command {
	return []*cobra.Command{
		o.ofFile("h2loadrunner CONFIG.json", "Convert a configuration of h2loadrunner", func(in inputFile) ([]byte, []string,
			error) {
			return h2loadrunner.Convert(in.content, in.Options)
		}),
		o.curl(),
		o.har(),
		o.openAPI(),
		o.proto(),
		o.ofFile("maock CONFIG.json", "Convert a configuration of maock into rules for h2surge target",
			func(in inputFile) ([]byte, []string, error) {
				return maock.Convert(in.content, filepath.Dir(in.name))
			}),
	}
}

// curl is a conversion of arguments, before which the name curl may stand, or of a line as browsers copy it: in one
// argument, or on standard input.
func (o *convertOptions) curl() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "curl {-- FLAGS URL | LINE | -}",
		Short: "Convert a command line of curl",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := curlArguments(cmd, args)
			if err != nil {
				return err
			}
			if len(args) > 0 && filepath.Base(args[0]) == "curl" {
				args = args[1:]
			}
			read := func(name string) ([]byte, error) { return readFile(cmd.InOrStdin(), "", name) }
			out, warnings, err := curl.Convert(args, o.named("curl", read))
			return o.finish(cmd, out, warnings, err)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		name := err.Error()
		if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
			name = strings.Repeat("-", min(2, len(unknown.GetSpecifiedName()))) + unknown.GetSpecifiedName() + ": unknown flag"
		}
		return command.Usagef("%s; write the flags of curl after --%s", name, command.SeeHelp(cmd))
	})
	return cmd
}

// curlArguments splits a line into the arguments that a shell would make of it.
func curlArguments(cmd *cobra.Command, args []string) ([]string, error) {
	if len(args) != 1 || args[0] != "-" && !strings.ContainsAny(args[0], " \n") {
		return args, nil
	}
	line := args[0]
	if line == "-" {
		content, err := input(cmd, line)
		if err != nil {
			return nil, err
		}
		line = string(content)
	}
	words, err := curl.Words(line)
	if err != nil {
		return nil, command.Usagef("curl: %v", err)
	}
	return words, nil
}

func (o *convertOptions) har() *cobra.Command {
	more := har.Options{}
	cmd := o.ofFile("har FILE", "Convert an HTTP archive (HAR), as browsers save it", func(in inputFile) ([]byte, []string,
		error) {
		more.Options = in.Options
		return har.Convert(in.content, more)
	})
	cmd.Flags().BoolVar(&more.Think, "think", false, "wait between requests as the user did")
	return cmd
}

func (o *convertOptions) openAPI() *cobra.Command {
	more := openapi.Options{}
	cmd := o.ofFile("openapi SPEC.yaml", "Convert an OpenAPI description (3.0 or 3.1)", func(in inputFile) ([]byte,
		[]string, error) {
		more.Options, more.File = in.Options, filepath.Base(in.name)
		return openapi.Convert(in.content, more)
	})
	cmd.Flags().StringVar(&more.Target, "target", "", "`URL` of the service (default the description's first server)")
	cmd.Flags().StringArrayVar(&more.Operations, "operation", nil,
		"operationId, or `'GET /path'`, of what to convert, with * for any text (default all); may be repeated")
	cmd.Flags().BoolVar(&more.Check, "check", false,
		"check the JSON of responses against the schemas of the description, with all that they refer to in a ConfigMap")
	cmd.Flags().BoolVar(&more.Multipart, "multipart", false,
		"send multipart/related with its binary parts, where a description has it in addition to JSON")
	cmd.Flags().BoolVar(&more.Resources, "resources", false,
		"chains that create, read, change and delete a resource, in place of one for each operation")
	return cmd
}

// inputFile is a file to convert, and what conversions share.
type inputFile struct {
	name    string
	content []byte
	convert.Options
}

// ofFile is a conversion of one file. The files that it names are read from its directory.
func (o *convertOptions) ofFile(use, short string, do func(inputFile) ([]byte, []string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  command.ExactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := input(cmd, args[0])
			if err != nil {
				return err
			}
			out, warnings, err := do(inputFile{args[0], content, o.named(stem(args[0]), inDirOf(args[0]))})
			return o.finish(cmd, out, warnings, err)
		},
	}
}
