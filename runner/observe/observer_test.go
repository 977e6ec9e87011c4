package observe

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/runner/dial"
)

// observing returns an observer of a plan with one target, which h serves.
func observing(t *testing.T, h http.HandlerFunc, edit func(*rv.Target), all ...rv.Observation) *Observer {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	e, err := endpoint.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	targets := []rv.Target{{Name: "target", Endpoints: []rv.Endpoint{e}, Protocol: rv.ProtocolHTTP1}}
	if edit != nil {
		edit(&targets[0])
	}
	for i := range all {
		all[i].Target, all[i].Interval = 1, time.Second
	}
	o, err := New(Config{Context: t.Context(), Plan: &rv.Plan{Targets: targets, Observe: all}, TLS: [][]*tls.Config{{nil}},
		Resolver: dial.NewResolver(nil), Clock: rv.Clock, Log: slog.New(slog.DiscardHandler), Suspended: func() bool { return false }}, targets)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func asking() rv.Observation { return rv.Observation{Name: "cpu", Query: "up"} }

func scraping() rv.Observation {
	return rv.Observation{Name: "up", Scrape: &rv.Scrape{Path: "/metrics", Metric: "up"}}
}

// answers returns a handler that answers with a text.
func answers(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

const (
	asJSON = "application/json"
	asText = "text/plain; version=0.0.4"
	asHTML = "text/html"
)

// success is the answer of a Prometheus server with a result.
func success(kind, result string) string {
	return fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":%s}}`, kind, result)
}

// TestRead has a row for each kind of answer. The error is that of the gap.
func TestRead(t *testing.T) {
	two := success("vector", `[{"metric":{"__name__":"up","pod":"b","zone":"1"},"value":[1,"2.5"]},{"metric":{"__name__":"up","pod":"a"},"value":[1,"1"]}]`)
	commas := success("vector", `[{"metric":{"a":"x,b=y"},"value":[1,"1"]},{"metric":{"a":"x","b":"y"},"value":[1,"2"]},{"metric":{"a=x,b":"y"},"value":[1,"3"]}]`)
	for name, tc := range map[string]struct {
		of   rv.Observation
		h    http.HandlerFunc
		want string
	}{
		"a vector":                 {asking(), answers(200, asJSON, two), "pod=b,zone=1=2.5 pod=a=1"},
		"labels with commas":       {asking(), answers(200, asJSON, commas), `a="x,b=y"=1 a=x,b=y=2 "a=x,b"=y=3`},
		"a scalar":                 {asking(), answers(200, asJSON, success("scalar", `[1,"4"]`)), "=4"},
		"no result":                {asking(), answers(200, asJSON, success("vector", `[]`)), "the query has no result"},
		"a matrix":                 {asking(), answers(200, asJSON, success("matrix", `[]`)), "the result is a matrix; allowed: a scalar or a vector"},
		"a text":                   {asking(), answers(200, asJSON, success("string", `[1,"a"]`)), "the answer is not in the format of Prometheus"},
		"a native histogram":       {asking(), answers(200, asJSON, success("vector", `[{"metric":{},"histogram":[1,{"count":"1","sum":"1","buckets":[]}]}]`)), "the result is a native histogram; use histogram_quantile"},
		"a query of no language":   {asking(), answers(400, asJSON, `{"status":"error","errorType":"bad_data","error":"1:5: parse error: unexpected \")\""}`), `the server answered: 1:5: parse error: unexpected ")"`},
		"a query that fails":       {asking(), answers(422, asJSON, `{"status":"error","errorType":"execution","error":"too many series"}`), "the server answered: too many series"},
		"an error of the server":   {asking(), answers(503, asHTML, "<html>"), "the server answered: server error: 503"},
		"HTML":                     {asking(), answers(200, asHTML, "<html>"), "the answer is not in the format of Prometheus"},
		"JSON of something else":   {asking(), answers(200, asJSON, `{"status":"success","data":7}`), "the answer is not in the format of Prometheus"},
		"10 MiB":                   {asking(), answers(200, asJSON, strings.Repeat(" ", 10<<20)), "the answer has more than 1048576 bytes"},
		"a redirect elsewhere":     {asking(), redirects("http://elsewhere.example/"), "the server redirects to another host, which is not followed"},
		"redirects without end":    {scraping(), redirects("/metrics"), "more than 3 redirects"},
		"a gauge":                  {scraping(), answers(200, asText, "# TYPE up gauge\nup{pod=\"a\"} 3\n"), "pod=a=3"},
		"a gauge with commas":      {scraping(), answers(200, asText, "# TYPE up gauge\nup{a=\"x,b=\\\"y\"} 3\n"), `a="x,b=\"y"=3`},
		"a metric without a type":  {scraping(), answers(200, asText, "up 3\n"), "=3"},
		"no such metric":           {scraping(), answers(200, asText, "down 3\n"), "the page has no metric up"},
		"a page of HTML":           {scraping(), answers(200, asHTML, "<html>\n"), "the page is not in the text format of Prometheus: text format parsing error in line 1"},
		"a page that is not there": {scraping(), answers(404, asText, ""), "the server answered 404"},
		"a page of 10 MiB":         {scraping(), answers(200, asText, strings.Repeat("#\n", 5<<20)), "the answer has more than 1048576 bytes"},
		"not a number":             {scraping(), answers(200, asText, "up NaN\n"), "=NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			o := observing(t, tc.h, nil, tc.of)
			values, err := o.sources[0].read(t.Context())
			var got []string
			for _, v := range values {
				got = append(got, fmt.Sprintf("%s=%v", v.label, v.value))
			}
			if err != nil {
				got = append(got, cause(err))
			}
			if !strings.HasPrefix(strings.Join(got, " "), tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestMetrics: a series is the same in all reads, and its label has the name of its metric if the reads have found
// several.
func TestMetrics(t *testing.T) {
	series := []string{
		`{"metric":{"__name__":"worker_cpu","pod":"a"},"value":[1,"2"]}`,
		`{"metric":{"__name__":"sidecar_cpu","pod":"a"},"value":[1,"1"]}`,
		`{"metric":{"pod":"a"},"value":[1,"3"]}`,
		`{"metric":{"__name__":"up"},"value":[1,"4"]}`,
	}
	found := 0
	o := observing(t, func(w http.ResponseWriter, r *http.Request) {
		answers(200, asJSON, success("vector", "["+strings.Join(series[:found], ",")+"]"))(w, r)
	}, nil, asking())
	for _, tc := range []struct {
		found int
		want  map[string]int // the number of points by label
	}{
		{1, map[string]int{"pod=a": 1}},
		{4, map[string]int{"__name__=worker_cpu,pod=a": 2, "__name__=sidecar_cpu,pod=a": 1, "pod=a": 1, "__name__=up": 1}},
		{1, map[string]int{"__name__=worker_cpu,pod=a": 3, "__name__=sidecar_cpu,pod=a": 1, "pod=a": 1, "__name__=up": 1}},
	} {
		found = tc.found
		o.read(0, int64(1000*found))
		got := map[string]int{}
		for _, s := range o.Samples()[0].Series {
			got[s.Label] += len(s.Points)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%d series are found (-want +got):\n%s", found, diff)
		}
	}
}

func redirects(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
}

// TestCheck: only a query that the server cannot execute is an error.
func TestCheck(t *testing.T) {
	bad := answers(400, asJSON, `{"status":"error","errorType":"bad_data","error":"1:5: parse error"}`)
	for name, tc := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"a bad query":  {bad, "spec.observe[1].prometheus.query: the server answered: 1:5: parse error"},
		"no server":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ""},
		"another page": {answers(200, asHTML, "<html>"), ""},
		"no result":    {answers(200, asJSON, success("vector", "[]")), ""},
	} {
		o := observing(t, tc.h, nil, scraping(), asking())
		if err := o.Check(); fmt.Sprint(err) != tc.want && (err != nil || tc.want != "") {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// TestPolicy: a server is asked only at an address that the policy allows.
func TestPolicy(t *testing.T) {
	o := observing(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") }, nil, asking())
	denied, err := policy.Parse(&rv.AddressPolicy{Denied: []rv.AddressRule{{Name: "loopback", CIDRs: []string{"127.0.0.0/8"}}}})
	if err != nil {
		t.Fatal(err)
	}
	o.config.Policy = denied
	o.clients = map[string]*client{}
	s, err := o.source(&o.config.Plan.Observe[0], o.config.Plan.Targets)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.read(t.Context()); err == nil || !strings.Contains(cause(err), "loopback") {
		t.Errorf("got %v", err)
	}
}

// TestAuthorization: requests have the credentials of the target, which no other host gets.
func TestAuthorization(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got string
	h := func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		answers(200, asText, "up 1\n")(w, r)
	}
	o := observing(t, h, func(t *rv.Target) { t.Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: token}} }, scraping())
	if _, err := o.sources[0].read(t.Context()); err != nil || got != "Bearer secret" {
		t.Errorf("got %q, %v", got, err)
	}
	none := observing(t, h, func(t *rv.Target) { t.Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: token + "-not"}} }, scraping())
	if _, err := none.sources[0].read(t.Context()); err == nil || !strings.HasPrefix(cause(err), "no authorization: auth.bearer.tokenFile: stat ") {
		t.Errorf("got %v", err)
	}
}

// scripted is a source whose reads take a time of the bubble.
type scripted struct {
	values  []float64 // 0: the read fails
	takes   time.Duration
	reads   int
	forgets int
}

func (s *scripted) forget() { s.forgets++ }

func (s *scripted) read(ctx context.Context) ([]value, error) {
	wait(ctx, s.takes)
	v := s.values[min(s.reads, len(s.values)-1)]
	s.reads++
	if v == 0 {
		return nil, context.DeadlineExceeded
	}
	return []value{{value: v}}, nil
}

// TestRun: reads are whole intervals after the start. One that fails is a gap, and those that a slow server leaves no time
// for are left out. Samples say whether the load was suspended when their read began.
func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		source  scripted
		off     bool
		pauses  bool // from 1.95 s to 2.95 s
		want    []int64
		paused  []int64
		gaps    []rv.ObservationGap
		forgets bool
	}{
		"each second":      {source: scripted{values: []float64{1, 2, 3, 4}}, want: []int64{0, 1000, 2000, 3000}},
		"a gap":            {source: scripted{values: []float64{1, 0, 0, 4}}, want: []int64{0, 3000}, gaps: []rv.ObservationGap{{From: 1000, To: 2000, Cause: "no answer within 5s", Reads: 2}}},
		"a slow server":    {source: scripted{values: []float64{1}, takes: 1500 * time.Millisecond}, want: []int64{0, 2000}, forgets: true},
		"a pause":          {source: scripted{values: []float64{1}, takes: 500 * time.Millisecond}, pauses: true, want: []int64{0, 1000, 2000, 3000}, paused: []int64{3000}},
		"another runner's": {source: scripted{values: []float64{1}}, off: true, forgets: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				zero := time.Now()
				plan := &rv.Plan{Observe: []rv.Observation{{Name: "a", Interval: time.Second}}}
				suspended := func() bool {
					since := time.Since(zero)
					return tc.pauses && since >= 1950*time.Millisecond && since < 2950*time.Millisecond
				}
				o := &Observer{config: Config{Context: ctx, Plan: plan, Log: slog.New(slog.DiscardHandler), Suspended: suspended,
					Clock: func() int64 { return int64(time.Since(zero)) }}, sources: []source{&tc.source}, records: make([]record, 1)}
				o.Set(!tc.off)
				o.Run(int64(20 * time.Millisecond))
				time.Sleep(3500 * time.Millisecond)
				cancel()
				synctest.Wait()
				got := o.Samples()[0]
				var at, paused []int64
				for _, s := range got.Series {
					for _, p := range s.Points {
						at = append(at, p.At)
						if p.Suspended {
							paused = append(paused, p.At)
						}
					}
				}
				if diff := cmp.Diff(tc.paused, paused); diff != "" {
					t.Errorf("reads in the pause (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.want, at); diff != "" {
					t.Errorf("reads (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.gaps, got.Gaps); diff != "" {
					t.Errorf("gaps (-want +got):\n%s", diff)
				}
				if tc.forgets != (tc.source.forgets > 0) {
					t.Errorf("%d times forgotten", tc.source.forgets)
				}
			})
		})
	}
}

// FuzzAnswers: no answer of a server makes a read panic, and each value has a label and a cause that fit the bounds.
func FuzzAnswers(f *testing.F) {
	f.Add(200, success("vector", `[{"metric":{"pod":"a"},"value":[1,"1"]}]`))
	f.Add(200, success("scalar", `[1,"NaN"]`))
	f.Add(200, success("matrix", `[{"metric":{},"values":[[1,"1"]]}]`))
	f.Add(400, `{"status":"error","errorType":"bad_data","error":"\u0000\ufffd"}`)
	f.Add(301, "")
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		answer := transportFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		q, err := newQuery(&client{base: "http://a", http: http.Client{Transport: answer, CheckRedirect: sameHost}}, "up")
		if err != nil {
			t.Fatal(err)
		}
		values, err := q.read(t.Context())
		var r record
		if len(values) > 0 {
			r.add(0, false, values)
		}
		if err != nil && len(cause(err)) > maxCause {
			t.Errorf("a cause of %d bytes", len(cause(err)))
		}
		for _, s := range r.samples().Series {
			if len(s.Label) > maxLabel {
				t.Errorf("a label of %d bytes", len(s.Label))
			}
		}
	})
}

// transportFunc answers requests.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestReadsAreSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		i, n     int
		interval time.Duration
		want     time.Duration
	}{
		"one":             {0, 1, 5 * time.Second, 250 * time.Millisecond},
		"first of 16":     {0, 16, time.Second, 100 * time.Millisecond},
		"second of 16":    {1, 16, time.Second, 96_875 * time.Microsecond},
		"last of 16":      {15, 16, time.Second, 53_125 * time.Microsecond},
		"of a minute":     {8, 16, time.Minute, 187_500 * time.Microsecond},
		"of milliseconds": {1, 2, 10 * time.Millisecond, 750 * time.Microsecond},
	} {
		if got := aheadOf(tc.i, tc.n, tc.interval); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
