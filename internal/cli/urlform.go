package cli

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/convert/curl"
	"github.com/h2surge/h2surge/internal/lazy"
	"github.com/h2surge/h2surge/internal/verdict"
)

// urlForm holds the flags that are allowed with a URL. Names and meanings are those of h2load, and of curl for -X and -d. The help says
// where they differ.
type urlForm struct {
	requests int64
	clients  int32
	streams  int32
	threads  int
	duration seconds
	warmUp   seconds
	rps      requestRate
	timeout  seconds
	// concurrency is 0 if there is no limit.
	concurrency int64
	shape       shapeFlags
	method      string
	headers     []string
	data        []string
	input       string
	connectionFlags
	curl curlFlags
	// notes are the warnings of the flags of curl.
	notes []string
	// search has the flags of "h2surge search"; nil: the command is another one.
	search *searchFlags
	own    *pflag.FlagSet // the flags of these fields
}

func (u *urlForm) register(flags *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	own.Int64VarP(&u.requests, "requests", "n", 1, "total `number` of requests; ignored with -D, as in h2load")
	own.Int32VarP(&u.clients, "clients", "c", 1, "`number` of connections")
	own.Int32VarP(&u.streams, "max-concurrent-streams", "m", 1, "`number` of requests in flight on each connection")
	own.IntVarP(&u.threads, "threads", "t", 1, "`number` of workers, each on its own CPU; at most -c")
	own.VarP(&u.duration, "duration", "D", "`time` to send for, such as 10s; a number without unit is in seconds")
	own.Var(&u.warmUp, "warm-up-time", "`time` to send before that without counting")
	own.Var(&u.rps, "rps", "`number` of requests per second of the whole test, such as 5000 or 0.5 (h2load: per connection); default: a closed loop, a request on each free stream")
	own.Int64Var(&u.concurrency, "concurrency", 0, "highest `number` of requests in flight over all connections, in a closed loop; default: -c times -m")
	u.shape.register(own)
	own.Var(&u.timeout, "timeout", "`time` that a request may take (default 5s)")
	own.StringVarP(&u.method, "request", "X", "", "`method` of the requests (default GET, and POST with -d)")
	own.VarP(&curlFlag{name: "--header", into: &u.curl, values: &u.headers}, "header", "H", "header `field` to send, as 'name: value'; may be repeated")
	own.VarP(&curlFlag{name: curl.OwnData, into: &u.curl, values: &u.data}, "data", "d", "body to send: `DATA`, or @FILE for the content of a file; no content-type is added; values of several -d are joined by &")
	own.StringVarP(&u.input, "input-file", "i", "", "`file` with URLs, one per line, to request in turn; - is standard input")
	u.curl.register(own)
	u.connectionFlags.register(own)
	if u.search != nil {
		u.search.register(own)
	}
	u.own = own
	flags.AddFlagSet(own)
}

// given names the flags that were on the command line.
func (u *urlForm) given() []string {
	var names []string
	u.own.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			names = append(names, f.Name)
		}
	})
	return names
}

// seconds is a duration whose unit may be left out, as h2load has it.
type seconds time.Duration

func (s *seconds) Type() string { return "duration" }

// String is empty for zero, which means that there is no such time.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		*s = seconds(time.Duration(n) * time.Second)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration; allowed: durations such as 10s, 500ms or 2m%s", text, compile.DurationHint(text))
	}
	*s = seconds(d)
	return nil
}

// check returns all mistakes that the compiler does not see.
func (u *urlForm) check() []string {
	var wrong []string
	if u.threads < 1 {
		wrong = append(wrong, "-t: must be at least 1")
	}
	if u.threads > int(u.clients) {
		wrong = append(wrong, fmt.Sprintf("-c: the number of connections (%d) must be at least the number of workers (-t %d)", u.clients, u.threads))
	}
	if u.streams < 1 { // compile would take 0 for "not given"
		wrong = append(wrong, "-m: must be at least 1")
	}
	if u.search == nil && u.duration == 0 && u.requests < int64(u.clients) && u.requests > 0 {
		wrong = append(wrong, u.tooFew())
	}
	if u.own.Changed("concurrency") && u.concurrency < 1 {
		wrong = append(wrong, "--concurrency: must be at least 1")
	}
	if u.concurrency > 0 && u.rps.count > 0 {
		wrong = append(wrong, "--concurrency: is not allowed with --rps")
	}
	wrong = append(wrong, u.shape.check(u)...)
	for _, h := range u.headers {
		if _, _, ok := cutHeader(h); !ok && !strings.HasSuffix(h, ";") { // curl has "name;" for a field without a value
			wrong = append(wrong, "-H: must have the form 'name: value'") // The value may be a secret.
		}
		if strings.HasPrefix(h, ":") && !strings.HasPrefix(h, ":method:") {
			wrong = append(wrong, "-H: of the pseudo-header fields only :method is allowed")
		}
	}
	if isURL(u.input) {
		wrong = append(wrong, "-i: is the file with URLs; in curl, -i prints header fields: leave it out")
	}
	if u.search != nil {
		wrong = append(wrong, u.search.check(u.given())...)
	}
	wrong = slices.Concat(wrong, u.curl.check(), u.connectionFlags.check(u.streams))
	if len(wrong) > 0 && !u.own.Changed("duration") { // the other mistakes may follow from the body
		wrong = append(u.unusual(), wrong...)
	}
	return wrong
}

// tooFew says that there are fewer requests than connections.
func (u *urlForm) tooFew() string {
	if u.own.Changed("requests") {
		return fmt.Sprintf("-n: the number of requests (%d) must be at least the number of connections (-c %d), unless -D is given", u.requests, u.clients)
	}
	return fmt.Sprintf("-c: %d connections need at least %d requests: set their number with -n, or the duration with -D", u.clients, u.clients)
}

// loadTest returns the LoadTest of the flags and the URLs.
func (u *urlForm) loadTest(stdin io.Reader, urls ...string) (*v1alpha1.LoadTest, error) {
	base, paths, err := paths(urls)
	if err != nil {
		return nil, err
	}
	target := v1alpha1.Target{Name: "target", URL: base, Connections: &u.clients, MaxConcurrentStreams: u.streams}
	request, err := u.request(&target, stdin)
	if err != nil {
		return nil, err
	}
	addQuery(paths, request.Path)
	lt := &v1alpha1.LoadTest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "command-line"},
		Spec:       v1alpha1.LoadTestSpec{Targets: []v1alpha1.Target{target}, Rates: u.rates()},
	}
	if u.search != nil {
		u.search.apply(&lt.Spec)
	}
	inTurn(&lt.Spec, request, paths)
	return lt, nil
}

// splitURL cuts a URL before its path: the base of a target has no query, a template's path may.
// An invalid URL stays whole, and the compiler reports it.
func splitURL(raw string) (base, path string) {
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" {
		return raw, "/"
	}
	after := len(parsed.Scheme) + len("://")
	end := strings.IndexAny(raw[after:], "/?#")
	if end < 0 {
		return raw, "/"
	}
	base, path = raw[:after+end], raw[after+end:]
	path, _, _ = strings.Cut(path, "#") // a fragment is never sent (RFC 9110 7.1)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return base, path
}

// request returns the request of the flags, with the query of -G as its path, and sets the fields of the target.
func (u *urlForm) request(target *v1alpha1.Target, stdin io.Reader) (v1alpha1.Request, error) {
	r, notes, err := u.curl.read(target.URL, stdin)
	if err != nil {
		return r.Request, err
	}
	u.notes = notes
	u.apply(target, r.Body == "" && r.BodyBase64 == "" && len(u.data) == 0)
	u.curl.apply(&r, target)
	if u.timeout > 0 {
		r.Timeout = u.timeout.given()
	}
	for _, h := range u.headers {
		if name, value, _ := cutHeader(h); name == ":method" {
			r.Method = value
		}
	}
	if u.method != "" {
		r.Method = u.method
	}
	return r.Request, nil
}

// addQuery adds the query of a path to other paths.
func addQuery(to []string, path string) {
	_, query, has := strings.Cut(path, "?")
	for i := range to {
		switch {
		case !has:
		case strings.Contains(to[i], "?"):
			to[i] += "&" + query
		default:
			to[i] += "?" + query
		}
	}
}

// cutHeader splits 'name: value'. The name of a pseudo-header begins with a colon itself.
func cutHeader(s string) (name, value string, ok bool) {
	pseudo := ""
	if strings.HasPrefix(s, ":") {
		pseudo, s = ":", s[1:]
	}
	name, value, ok = strings.Cut(s, ":")
	return pseudo + name, strings.Trim(value, " \t"), ok && name != ""
}

// literal escapes a text, so that it has no placeholders.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

func (u *urlForm) rates() []v1alpha1.Rate {
	main := v1alpha1.Rate{Name: "load", Requests: &u.requests}
	if u.duration > 0 {
		main.Requests, main.Duration = nil, &v1alpha1.Duration{Duration: time.Duration(u.duration)}
	}
	rates := []v1alpha1.Rate{main}
	if u.warmUp > 0 {
		warm := v1alpha1.Rate{Name: "warm-up", WarmUp: true, Duration: &v1alpha1.Duration{Duration: time.Duration(u.warmUp)}}
		rates = []v1alpha1.Rate{warm, main}
	}
	for i := range rates {
		if u.rps.count > 0 {
			u.rps.apply(&rates[i])
		} else {
			rates[i].ClosedLoop = &v1alpha1.ClosedLoop{}
			if u.concurrency > 0 {
				rates[i].ClosedLoop.Concurrency = &u.concurrency
			}
		}
		u.shape.apply(&rates[i], &u.rps)
	}
	return rates
}

// Each URL has a chain with one step. Many URLs are the values of one variable.
var (
	requestPath  = lazy.Regexp(`^spec\.chains\[\d+\]\.steps\[0\]\.request\.`)
	variablePath = lazy.Regexp(`^spec\.variables\[\d+\]`)
)

// mistakes names the flags that errors in fields come from.
func (u *urlForm) mistakes(errs field.ErrorList) error {
	return &exitError{code: verdict.ExitUsage, lines: compile.ErrorLines(u.onFlags(errs))}
}

// warnings of the compiler begin with the path of a field.
func (u *urlForm) warnings(in []string) (out []string) {
	for _, w := range in {
		path, text, _ := strings.Cut(w, ": ")
		named := u.onFlags(field.ErrorList{{Field: path}})
		out = append(out, named[0].Field+": "+text)
	}
	return out
}

// bodyTime matches a body that is probably a duration.
var bodyTime = lazy.Regexp(`^[0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h)$`)

// unusual returns warnings about flags that are probably mistaken for others. A body that is also the name of
// a file gets none: it is probably not a duration.
func (u *urlForm) unusual() (out []string) {
	for _, text := range u.data {
		if _, err := os.Stat(text); err != nil && bodyTime().MatchString(text) {
			out = append(out, fmt.Sprintf("-d: the body of the requests is %q; if it is the duration, write -D %s", text, text))
		}
	}
	return out
}

// methodFlag is the flag that sets the method.
func (u *urlForm) methodFlag() string {
	if u.method != "" {
		return "-X"
	}
	return "-H"
}

// onFlags puts what was typed in place of the fields it was made into, so that an error names
// what the user can see.
func (u *urlForm) onFlags(errs field.ErrorList) field.ErrorList {
	main := "spec.rates[0]"
	names := map[string]string{}
	if u.warmUp > 0 {
		names["spec.rates[0].duration"] = "--warm-up-time"
		main = "spec.rates[1]"
	}
	if u.search != nil {
		u.search.flags(names)
	}
	for field, flag := range map[string]string{
		"spec.targets[0].url":                  "URL",
		"spec.targets[0].connections":          "-c",
		"spec.targets[0].maxConcurrentStreams": "-m",
		"spec.targets[0].protocol":             "--h1",
		"request.path":                         "URL",
		"request.body":                         u.curl.bodyFlag(),
		"request.bodyBase64":                   u.curl.bodyFlag(),
		"request.maxRedirects":                 "--max-redirs",
		"request.method":                       u.methodFlag(),
		"request.timeout":                      "--timeout",
		main + ".requests":                     "-n",
		main + ".duration":                     "-D",
		"spec.rates[0].requestsPerSecond":      "--rps",
		"spec.rates[1].requestsPerSecond":      "--rps",
		"spec.rates[0].closedLoop.concurrency": "--concurrency",
		"spec.rates[1].closedLoop.concurrency": "--concurrency",
		main + ".rampFrom":                     "--ramp-from",
		"spec.rates[0].arrivals":               "--arrivals",
		"spec.rates[1].arrivals":               "--arrivals",
		"spec.rates[0].burstSize":              "--burst-size",
		"spec.rates[1].burstSize":              "--burst-size",
		"spec.rates[0].requestsPer.count":      "--rps",
		"spec.rates[1].requestsPer.count":      "--rps",
	} {
		names[field] = flag
	}
	for _, err := range errs {
		name := variablePath().ReplaceAllString(requestPath().ReplaceAllString(err.Field, "request."), "variable")
		below, connection := strings.CutPrefix(name, "spec.targets[0].")
		switch {
		case names[name] != "":
			err.Field = names[name]
		case strings.HasPrefix(name, "request.headers"):
			err.Field = "-H"
		case strings.HasPrefix(name, "variable"):
			err.Field = "URL"
		case connection && u.flagOf(below) != "":
			err.Field = u.flagOf(below)
		}
	}
	return errs
}
