package cli

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/convert/curl"
	"github.com/h2surge/h2surge/internal/lazy"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// urlForm holds the flags that are allowed with a URL. Names and meanings are those of h2load, and of curl for -X and
// -d. The help says where they differ.
type urlForm struct {
	requests                  int64
	clients, streams          int32
	threads                   int
	duration, warmUp, timeout *v1alpha1.Duration
	rps                       *v1alpha1.RequestsPer
	// concurrency is nil if there is no limit.
	concurrency   *int64
	rampFrom      *int64
	arrivals      v1alpha1.Arrivals
	burstSize     int64
	method, input string
	headers, data []string
	connectionFlags
	curl curlFlags
	// notes are the warnings of the flags of curl.
	notes []string
	// search has the flags of "h2surge search"; nil: the command is another one.
	search *searchFlags
	flags  []*formFlag
	own    *pflag.FlagSet // of flags
}

func (u *urlForm) register(flags *pflag.FlagSet) {
	u.requests, u.clients, u.streams, u.threads = 1, 1, 1, 1
	if u.search != nil {
		u.clients, u.streams = 10, 100
	}
	u.own = pflag.NewFlagSet("", pflag.ContinueOnError)
	u.own.SortFlags = false
	u.curl.own = u.own
	u.flags = slices.Concat(u.rows(), u.curl.rows(), u.connectionFlags.rows(), u.search.rows())
	for _, f := range u.flags {
		flag := u.own.VarPF(f, f.name, f.letter, f.usage)
		if f.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	_ = u.own.MarkHidden("alpn-list") // it is in the table
	flags.AddFlagSet(u.own)
}

func (u *urlForm) rows() []*formFlag {
	return []*formFlag{
		{"requests", "n", "rate.requests", into(&u.requests, whole),
			"total `number` of requests; ignored with -D, as in h2load (default 1)"},
		{"clients", "c", "target.connections", into(&u.clients, whole), fmt.Sprintf("`number` of connections (default %d)",
			u.clients)},
		{"max-concurrent-streams", "m", "target.maxConcurrentStreams", into(&u.streams, whole),
			fmt.Sprintf("`number` of requests in flight on each connection (default %d)", u.streams)},
		{"threads", "t", "", into(&u.threads, whole), "`number` of workers, each on its own CPU; at most -c (default 1)"},
		{"duration", "D", "rate.duration", into(&u.duration, limit),
			"`time` to send for, such as 10s; a number without unit is in seconds"},
		{"warm-up-time", "", "rate.warmUp", into(&u.warmUp, limit), "`time` to send before that without counting"},
		{"rps", "", "rate.requestsPerSecond", into(&u.rps, perSecond),
			"`number` of requests per second of the whole test, such as 5000 or 0.5 (h2load: per connection); default: a closed loop, a request on each free stream"},
		{"concurrency", "", "rate.closedLoop.concurrency", into(&u.concurrency, optional),
			"highest `number` of requests in flight over all connections, in a closed loop; default: -c times -m"},
		{"ramp-from", "", "rate.rampFrom", into(&u.rampFrom, optional),
			"`number` of requests per second, or in flight with --concurrency, at the start of a linear ramp to --rps or --concurrency over the time -D; default: no ramp"},
		{"arrivals", "", "rate.arrivals", into(&u.arrivals, text),
			"`spacing` of the requests of --rps: Even, Poisson or Burst (default Even)"},
		{"burst-size", "", "rate.burstSize", into(&u.burstSize, whole),
			"`number` of requests in each burst of --arrivals Burst"},
		{"timeout", "", "request.timeout", into(&u.timeout, duration), "`time` that a request may take (default 5s)"},
		{"request", "X", "", into(&u.method, text), "`method` of the requests (default GET, and POST with -d)"},
		{"header", "H", "", u.addHeader, "header `field` to send, as 'name: value'; may be repeated"},
		{"data", "d", "", u.addData, "body to send: `DATA`, or @FILE for the content of a file; no content-type is added; values of several -d are joined by &"},
		{"input-file", "i", "", into(&u.input, text),
			"`file` with URLs, one per line, to request in turn; - is standard input"},
	}
}

func (u *urlForm) addHeader(field string) error {
	u.headers = append(u.headers, field)
	if strings.HasPrefix(field, ":") { // curl has no pseudo-headers
		return nil
	}
	return u.curl.add("--header", field)
}

func (u *urlForm) addData(value string) error {
	u.data = append(u.data, value)
	return u.curl.add(curl.OwnData, value)
}

// given names the flags that were on the command line.
func (u *urlForm) given() []string {
	var names []string
	for _, f := range u.flags {
		if u.own.Changed(f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// check returns all mistakes that the compiler does not see.
func (u *urlForm) check() []string {
	var wrong mistakes
	wrong.add(u.threads < 1, "-t: must be at least 1")
	wrong.add(u.threads > int(u.clients),
		"-c: the number of connections (%d) must be at least the number of workers (-t %d)", u.clients, u.threads)
	wrong.add(u.streams < 1, "-m: must be at least 1") // compile would take 0 for "not given"
	wrong.add(u.search == nil && u.duration == nil && u.requests < int64(u.clients) && u.requests > 0, "%s", u.tooFew())
	wrong.add(u.concurrency != nil && *u.concurrency < 1, "--concurrency: must be at least 1")
	wrong.add(u.concurrency != nil && *u.concurrency > 0 && u.rps != nil, "--concurrency: is not allowed with --rps")
	wrong = append(wrong, u.checkShape()...)
	for _, h := range u.headers {
		_, _, ok := cutHeader(h)
		// The value may be a secret. In curl, "name;" is a field without a value.
		wrong.add(!ok && !strings.HasSuffix(h, ";"), "-H: must have the form 'name: value'")
		wrong.add(strings.HasPrefix(h, ":") && !strings.HasPrefix(h, ":method:"),
			"-H: of the pseudo-header fields only :method is allowed")
	}
	wrong.add(command.IsURL(u.input), "-i: is the file with URLs; in curl, -i prints header fields: leave it out")
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
	return fmt.Sprintf("-c: %d connections need at least %d requests: set their number with -n, or the duration with -D",
		u.clients, u.clients)
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
	r.Timeout = u.timeout
	for _, h := range u.headers {
		if name, value, _ := cutHeader(h); name == ":method" {
			r.Method = value
		}
	}
	r.Method = cmp.Or(u.method, r.Method)
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

// mistakes names the flags that errors in fields come from.
func (u *urlForm) mistakes(errs field.ErrorList) error {
	return command.Exit(verdict.ExitUsage, compile.ErrorLines(u.onFlags(errs))...)
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
