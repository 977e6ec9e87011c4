package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/lazy"
)

// ExactArgs allows one argument for each name, such as NAME. A name in brackets is optional.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		required := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.HasPrefix(n, "[") })
		switch {
		case len(args) < len(required):
			return Usagef("%s: the argument is missing%s", required[len(args)], SeeHelp(cmd))
		case len(args) > len(names):
			return Usagef("%s: unexpected argument%s", args[len(names)], SeeHelp(cmd))
		}
		return nil
	}
}

// unknownCommand is how cobra reports a command that does not exist.
var unknownCommand = lazy.Regexp(`^unknown command "([^"]*)" for "[^"]*"(?: Did you mean this\? (\S+))?`)

// argumentProblem rewrites what cobra reports about arguments.
func argumentProblem(line string) string {
	m := unknownCommand().FindStringSubmatch(line)
	if m == nil {
		return line
	}
	name := m[1]
	switch {
	case IsURL(name) || IsManifestName(name):
		return fmt.Sprintf("%s: unknown command; write h2surge run %s", name, name)
	case m[2] != "":
		return name + ": unknown command; did you mean " + m[2] + "?"
	}
	return name + ": unknown command"
}

// notConverted are the tools for which convert has no command, with what to do in its place.
var notConverted = map[string]string{
	"k6":        "scripts cannot be converted: record the requests as HAR in a browser for \"convert har\", or write a manifest",
	"locust":    "scripts cannot be converted: record the requests as HAR in a browser for \"convert har\", or write a manifest",
	"gatling":   "scripts cannot be converted: record the requests as HAR in a browser for \"convert har\", or write a manifest",
	"jmeter":    "test plans cannot be converted: record the requests as HAR in a browser for \"convert har\", or write a manifest",
	"artillery": "scenarios cannot be converted: record the requests as HAR in a browser for \"convert har\", or write a manifest",
	"h2load":    "use h2surge run URL with the flags of h2load",
	"ab":        "use h2surge run URL with the flags -n, -c, --h1 and --no-keepalive",
	"wrk":       "use h2surge run URL with the flags -c and -D",
	"wrk2":      "use h2surge run URL with the flags -c, -D and --rps",
	"hey":       "use h2surge run URL with the flags -n, -c and -D",
	"oha":       "use h2surge run URL with the flags -n, -c and -D",
	"vegeta":    "use h2surge run URL with the flags --rps and -D",
}

// Group makes a command that only has subcommands refuse arguments.
func Group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		line := args[0] + ": unknown command"
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		if hint := notConverted[args[0]]; hint != "" && cmd.Name() == "convert" {
			line += "; " + hint
		} else if near := compile.Nearest(args[0], names); near != "" {
			line += "; did you mean " + near + "?"
		}
		return Usagef("%s%s", line, SeeHelp(cmd))
	}
}

// IsURL reports whether an argument has a scheme.
func IsURL(arg string) bool { return strings.Contains(arg, "://") }

// IsManifestName reports whether an argument names a file that exists, or looks like the name of a manifest.
func IsManifestName(arg string) bool {
	if _, err := os.Stat(arg); err == nil || arg == StdinName {
		return true
	}
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg))
}

// StdinName is the argument that stands for standard input.
const StdinName = "-"

// ShownName is the name of a file in messages.
func ShownName(file string) string {
	if file == StdinName {
		return "stdin"
	}
	return file
}

// CannotRead is an error about a file. It names the file once: a PathError has it as well.
func CannotRead(name string, err error) error {
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return Usagef("%s: %v", ShownName(name), err)
}
