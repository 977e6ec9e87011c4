package command

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// flagHints are flags of other tools, and what to use in their place.
var flagHints = map[string]string{
	"rate":                  "use --rps N for requests per second, or --connection-rate N for connections opened per period",
	"rate-period":           "use --connection-rate-period TIME",
	"qps":                   "use --rps N",
	"concurrency":           "use -c N for connections and -m N for requests in flight on each of them",
	"connections":           "use -c N",
	"method":                "use -X METHOD",
	"body":                  "use -d DATA, or -d @FILE",
	"report":                "use --output-file FILE",
	"export":                "use --output-file FILE; the ending of the name selects the format",
	"to":                    "use --output-file FILE",
	"http1.1":               "use --h1",
	"http3":                 "use --h3",
	"http2":                 "leave it out: the server is asked for HTTP/2, with https:// by ALPN",
	"http2-prior-knowledge": "leave it out: with http://, the server is asked for HTTP/2",
	"unix-socket":           "use --unix PATH",
	"url":                   "write the URL without a flag",
}

// URLFlagHints are the flags of other load generators for what the flags of a URL do.
var URLFlagHints = map[string]string{
	"R":       "use --rps N",
	"z":       "use -D TIME",
	"vus":     "use --concurrency N for requests in flight, and -c N for connections",
	"users":   "use --concurrency N for requests in flight, and -c N for connections",
	"latency": "use --histogram",
}

// curlHints are flags of curl that a URL does not have.
var curlHints = map[string]string{
	"max-time":    "use --timeout TIME",
	"compressed":  "leave it out, or use -H 'accept-encoding: gzip'",
	"upload-file": "use -X PUT and -d @FILE",
	"E":           "use --cert FILE",
	"x":           "leave it out: there are no proxies",
	"proxy":       "leave it out: there are no proxies",
	"v":           "use h2surge try with a manifest to see requests and responses",
	"verbose":     "use h2surge try with a manifest to see requests and responses",
	"s":           "use -q",
	"S":           "leave it out: errors are always shown",
}

// FlagError writes errors of flags as "--FLAG: problem".
func FlagError(cmd *cobra.Command, err error) error {
	line := err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		line = unknownFlag(cmd, unknown)
	case errors.As(err, &invalid):
		line = Typed(invalid.GetFlag()) + ": " + cause(invalid.Unwrap()) + otherLetter(cmd, invalid)
	case errors.As(err, &missing):
		line = Typed(missing.GetFlag()) + ": a value is missing"
	}
	return Exit(verdict.ExitUsage, line+SeeHelp(cmd))
}

// otherLetters are flags of a URL whose letter is another flag of curl.
var otherLetters = map[string]string{
	"clients":                       "a file for cookies",
	"connection-active-timeout":     "a file to send: use -X PUT and -d @FILE",
	"connection-inactivity-timeout": "about the output: leave it out",
	"connection-rate":               "a range of octets: use -H 'range: bytes=0-99'",
	"window-bits":                   "the format of the output",
}

// otherLetter is the end of the message about a value that is neither a number nor a time, and may be one of the flag
// of curl with the same letter.
func otherLetter(cmd *cobra.Command, wrong *pflag.InvalidValueError) string {
	flag, value := wrong.GetFlag(), wrong.GetValue()
	means := otherLetters[flag.Name]
	if means == "" || cmd.Flags().Lookup("rps") == nil || strings.ContainsAny(value[:min(1, len(value))],
		"0123456789-+.") {
		return ""
	}
	return fmt.Sprintf("; in curl, -%s is %s", flag.Shorthand, means)
}

// SeeHelp is the end of messages about the command line.
func SeeHelp(cmd *cobra.Command) string { return fmt.Sprintf(" (see %s --help)", cmd.CommandPath()) }

// cause is the error of a flag's value. Those of the standard library name a function first.
func cause(err error) string {
	text := err.Error()
	if after, value, ok := strings.Cut(text, "parsing "); ok && strings.HasPrefix(after, "strconv.") {
		value, _, _ = strings.Cut(value, ": ")
		return value + " is not a valid value"
	}
	return strings.TrimPrefix(text, "time: ")
}

func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) string {
	name, dashes := err.GetSpecifiedName(), "--"
	hint := flagHints[name]
	if cmd.Flags().Lookup("rps") != nil && hint == "" {
		hint = cmp.Or(URLFlagHints[name], curlHints[name])
	}
	if err.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	switch {
	case hint != "":
		return fmt.Sprintf("%s%s: unknown flag; %s", dashes, name, hint)
	case dashes == "-":
		return fmt.Sprintf("-%s: unknown flag", name)
	}
	names := map[string]bool{}
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names[f.Name] = true
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if near := compile.Nearest(name, slices.Sorted(maps.Keys(names))); near != "" {
		return fmt.Sprintf("--%s: unknown flag; did you mean --%s?", name, near)
	}
	return fmt.Sprintf("--%s: unknown flag", name)
}

// Typed is a flag as users write it.
func Typed(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// OneOf checks the value of -o.
func OneOf(output string, allowed ...string) error {
	if slices.Contains(allowed, output) {
		return nil
	}
	return Usagef("-o: %q is not a format; allowed: %s", output, strings.Join(allowed, ", "))
}
