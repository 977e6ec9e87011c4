package cli

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/convert/curl"
)

// curlFlags are the flags of curl that say what a request is, and how its target is found. Package curl knows their
// meaning.
type curlFlags struct {
	// set has the flags in the order of the command line, with the names that package curl has for them. -H and -d are in
	// it, too.
	set []curl.Flag
	own *pflag.FlagSet
}

// curlUsages are the flags of curl that no other flag has: name, letter, the field of the table, usage.
var curlUsages = [][4]string{
	{"data-binary", "", "", "body to send: `DATA` or @FILE, with the content-type of a form, as curl sends it"},
	{"data-raw", "", "", "the same; `DATA` that begins with @ is not a file"},
	{"data-urlencode", "", "", "the same, percent-encoded: `DATA`, NAME=DATA, @FILE or NAME@FILE"},
	{"json", "", "", "body of JSON to send: `DATA` or @FILE, with content-type and accept"},
	{"form", "F", "", "`NAME=VALUE`, NAME=@FILE or NAME=<FILE: a part of multipart/form-data; may be repeated"},
	{"form-string", "", "", "`NAME=VALUE`: a part of multipart/form-data, without files"},
	{"get", "G", "", "send the data in the query of the URL, with GET"},
	{"head", "I", "", "send HEAD"},
	{"user", "u", "", "`USER:PASSWORD` to send as authorization (Basic)"},
	{"oauth2-bearer", "", "", "`token` to send as authorization (Bearer)"},
	{"user-agent", "A", "", "`value` of user-agent"},
	{"referer", "e", "", "`value` of referer"},
	{"cookie", "b", "", "`NAME=VALUE` to send as cookie; may be repeated"},
	{"location", "L", "", "follow redirects with status 307 and 308"},
	{"max-redirs", "", "request.maxRedirects", "`number` of redirects that -L follows at most (default 16)"},
	{"resolve", "", "target.connectTo", "`HOST:PORT:ADDRESS` to connect to for the URL's HOST and PORT"},
	{"connect-timeout", "", "target.connectTimeout", "`seconds` that opening a connection may take (default 5)"},
	{"tlsv1.2", "", "target.tls.minVersion", "use TLS 1.2 or higher"},
	{"tlsv1.3", "", "target.tls.minVersion", "use TLS 1.3"},
}

func (c *curlFlags) rows() (out []*formFlag) {
	for _, u := range curlUsages {
		row := &formFlag{name: u[0], letter: u[1], field: u[2], usage: u[3]}
		row.set = func(value string) error {
			if row.Type() == "bool" && value != "true" {
				return errors.New("has no value")
			}
			return c.add("--"+row.name, value)
		}
		out = append(out, row)
	}
	return out
}

func (c *curlFlags) add(name, value string) error {
	c.set = append(c.set, curl.Flag{Name: name, Value: value})
	return nil
}

// read returns the request and the target of the flags, for requests to a base URL, and warnings.
func (c *curlFlags) read(base string, stdin io.Reader) (r curl.Request, warnings []string, err error) {
	read := func(name string) ([]byte, error) {
		content, err := readManifestFile(name, stdin)
		if cause := (*os.PathError)(nil); errors.As(err, &cause) {
			err = errors.New(name + ": " + cause.Err.Error())
		}
		return content, err
	}
	r, warnings, err = curl.Read(c.set, base+"/", read)
	for i := range warnings {
		warnings[i] = c.typed(warnings[i])
	}
	if err != nil {
		lines := strings.Split(err.Error(), "\n")
		for i := range lines {
			lines[i] = c.typed(lines[i])
		}
		return r, nil, command.Exit(1, lines...)
	}
	return r, warnings, nil
}

// typed puts the letter of a flag in the place of its name at the start of a message, as other messages have it.
func (c *curlFlags) typed(message string) string {
	name, rest, _ := strings.Cut(message, ": ")
	if f := c.own.Lookup(strings.TrimPrefix(name, "--")); f != nil && strings.HasPrefix(name, "--") {
		return command.Typed(f) + ": " + rest
	}
	return message
}

// bodyFlag is the first flag that sets the body.
func (c *curlFlags) bodyFlag() string {
	for _, f := range c.set {
		if name := strings.TrimPrefix(f.Name, "--"); f.Name == curl.OwnData || strings.HasPrefix(name, "data") ||
			name == "json" || strings.HasPrefix(name, "form") {
			return f.Name
		}
	}
	return curl.OwnData
}

// secrets returns warnings about flags whose values a manifest must not have.
func (c *curlFlags) secrets() (out []string) {
	for _, f := range c.set {
		name, value, _ := cutHeader(f.Value)
		sets := func(names ...string) bool { // "cookie:" removes the field
			return f.Name == "--header" && value != "" && slices.Contains(names, strings.ToLower(strings.TrimSpace(name)))
		}
		instead := ""
		switch {
		case f.Name == "--user":
			instead = "auth.basic of the target"
		case f.Name == "--oauth2-bearer":
			instead = "auth.bearer of the target"
		case sets("authorization", "proxy-authorization"):
			instead = "valueFrom, or auth of the target"
		case sets("cookie"), f.Name == "--cookie" && strings.Contains(f.Value, "="):
			instead = "valueFrom if it is secret"
		default:
			continue
		}
		warning := c.typed(f.Name + ": the manifest contains the value, which every reader of the manifest can see; use " +
			instead)
		if !slices.Contains(out, warning) {
			out = append(out, warning)
		}
	}
	return out
}

// check finds values that mean something else in other tools.
func (c *curlFlags) check() (wrong []string) {
	for _, f := range c.set {
		if f.Name == "--user" && !strings.Contains(f.Value, ":") {
			wrong = append(wrong, "-u: must be USER:PASSWORD; for a number of users, use --concurrency N")
		}
	}
	if c.own.Changed("resolve") && (c.own.Changed("connect-to") || c.own.Changed("unix")) {
		wrong = append(wrong, "--resolve: not allowed with --connect-to and --unix")
	}
	return wrong
}

// apply sets what the flags say about a target.
func (*curlFlags) apply(r *curl.Request, t *v1alpha1.Target) {
	if r.Target.ConnectTo != "" {
		t.ConnectTo = r.Target.ConnectTo
	}
	t.URL, t.ConnectTimeout = cmp.Or(r.Target.URL, t.URL), r.Target.ConnectTimeout
	if least := r.Target.TLS; least != nil && least.MinVersion != "" {
		if t.TLS == nil {
			t.TLS = &v1alpha1.TLS{}
		}
		t.TLS.MinVersion = least.MinVersion
	}
}
