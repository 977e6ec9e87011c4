package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

func TestURLForm(t *testing.T) {
	body, binary := file(t, "body", `{"cost":"$${x}"}`), file(t, "binary", "\xff")
	duration := func(d time.Duration) *v1alpha1.Duration { return &v1alpha1.Duration{Duration: d} }
	// base is what "-n 1 -c 1 -m 1 http://h:1" stands for; a row changes it.
	base := func(change func(*v1alpha1.LoadTestSpec)) v1alpha1.LoadTestSpec {
		spec := v1alpha1.LoadTestSpec{
			Targets: []v1alpha1.Target{{Name: "target", URL: "http://h:1", Connections: ptr.To[int32](1), MaxConcurrentStreams: 1}},
			Chains:  []v1alpha1.Chain{{Name: "request", Target: "target", Steps: []v1alpha1.Step{{Name: "request", Request: &v1alpha1.Request{Method: "GET", Path: "/"}}}}},
			Rates:   []v1alpha1.Rate{{Name: "load", Requests: ptr.To[int64](1), ClosedLoop: &v1alpha1.ClosedLoop{}}},
		}
		change(&spec)
		return spec
	}
	for _, tc := range []struct {
		name string
		args []string
		url  string
		want v1alpha1.LoadTestSpec
	}{
		{"nothing but a URL", nil, "http://h:1", base(func(*v1alpha1.LoadTestSpec) {})},
		{"numbers", []string{"-n", "100", "-c", "20", "-m", "10"}, "http://h:1/", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Connections, s.Targets[0].MaxConcurrentStreams = ptr.To[int32](20), 10
			s.Targets[0].HTTP1 = &v1alpha1.HTTP1{Pipeline: 10} // if the server chooses it
			s.Rates[0].Requests = ptr.To[int64](100)
		})},
		{"numbers stuck to their flags", []string{"-n100", "-c20", "-m10"}, "http://h:1/", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Connections, s.Targets[0].MaxConcurrentStreams = ptr.To[int32](20), 10
			s.Targets[0].HTTP1 = &v1alpha1.HTTP1{Pipeline: 10}
			s.Rates[0].Requests = ptr.To[int64](100)
		})},
		{"a duration wins over a number", []string{"-n", "100", "-D", "10s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates[0].Requests, s.Rates[0].Duration = nil, duration(10*time.Second)
		})},
		{"bare numbers are seconds", []string{"--duration=10", "--warm-up-time=5"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{
				{Name: "warm-up", WarmUp: true, Duration: duration(5 * time.Second), ClosedLoop: &v1alpha1.ClosedLoop{}},
				{Name: "load", Duration: duration(10 * time.Second), ClosedLoop: &v1alpha1.ClosedLoop{}},
			}
		})},
		{"a rate, in the warm-up too", []string{"--rps", "500", "-n", "9", "--warm-up-time", "500ms"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{
				{Name: "warm-up", WarmUp: true, Duration: duration(500 * time.Millisecond), RequestsPerSecond: ptr.To[int64](500)},
				{Name: "load", Requests: ptr.To[int64](9), RequestsPerSecond: ptr.To[int64](500)},
			}
		})},
		{"path, query, fragment and dollars", nil, "http://h:1/a/${b}?c=$d#e", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Path = "/a/$${b}?c=$$d"
		})},
		{"a query alone", nil, "http://h:1?c=d", base(func(s *v1alpha1.LoadTestSpec) { s.Chains[0].Steps[0].Request.Path = "/?c=d" })},
		{"headers", []string{"-H", "x-a: b: c ", "-H", "x-d:e", "-H", ":method: PUT", "-H", "x-$: $"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Method = "PUT"
			s.Chains[0].Steps[0].Request.Headers = []v1alpha1.Header{{Name: "x-a", Value: new("b: c")}, {Name: "x-d", Value: new("e")}, {Name: "x-$", Value: new("$$")}}
		})},
		{"a body", []string{"-d", "@" + body}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Method, s.Chains[0].Steps[0].Request.Body = "POST", `{"cost":"$$$${x}"}`
		})},
		{"a body with another method", []string{"-d", "@" + body, "-H", ":method: PATCH"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Method, s.Chains[0].Steps[0].Request.Body = "PATCH", `{"cost":"$$$${x}"}`
		})},
		{"a body of text", []string{"-d", "a=1", "-d", "b=$2"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Method, s.Chains[0].Steps[0].Request.Body = "POST", "a=1&b=$$2"
		})},
		{"a form of curl", []string{"--data-urlencode", "a=b c", "-d", "d"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request = &v1alpha1.Request{Method: "POST", Path: "/", Body: "a=b%20c&d", Headers: []v1alpha1.Header{
				{Name: "content-type", Value: ptr.To("application/x-www-form-urlencoded")},
			}}
		})},
		{"JSON", []string{"--json", `{"a":"$"}`, "-X", "PUT", "-H", "accept: text/plain"}, "http://h:1/?a", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request = &v1alpha1.Request{Method: "PUT", Path: "/?a", Body: `{"a":"$$"}`, Headers: []v1alpha1.Header{
				{Name: "accept", Value: ptr.To("text/plain")}, {Name: "content-type", Value: ptr.To("application/json")},
			}}
		})},
		{"a query of data", []string{"-G", "--data-urlencode", "q=ü", "-d", "b=1"}, "http://h:1/s?a", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Path = "/s?a&q=%C3%BC&b=1"
			s.Targets[0].HTTP1 = nil
		})},
		{"header fields of curl", []string{"-u", "a:b", "-A", "me", "-b", "c=d", "-b", "e=f", "-I", "-L", "--max-redirs", "2"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request = &v1alpha1.Request{Method: "HEAD", Path: "/", MaxRedirects: ptr.To[int32](2), Headers: []v1alpha1.Header{
				{Name: "user-agent", Value: ptr.To("me")}, {Name: "authorization", Value: ptr.To("Basic YTpi")}, {Name: "cookie", Value: ptr.To("c=d; e=f")},
			}}
		})},
		{"a connection of curl", []string{"--resolve", "h:1:192.0.2.1", "--connect-timeout", "1.5", "-H", "accept-encoding: gzip"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].ConnectTo, s.Targets[0].ConnectTimeout = "192.0.2.1:1", duration(1500*time.Millisecond)
			s.Chains[0].Steps[0].Request.Headers = []v1alpha1.Header{{Name: "accept-encoding", Value: ptr.To("gzip")}}
		})},
		{"another host", []string{"-H", "Host: other.example"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Targets[0].ConnectTo = "http://other.example", "h:1"
		})},
		{"TLS of curl", []string{"--tlsv1.3", "-k", "--cert", "me.pem"}, "https://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL = "https://h:1"
			s.Targets[0].TLS = &v1alpha1.TLS{InsecureSkipVerify: true, MinVersion: v1alpha1.TLS13, Certificate: &v1alpha1.ClientCertificate{
				Files: &v1alpha1.CertificateFiles{Certificate: "me.pem", Key: "me.pem"},
			}}
		})},
		{"octets that are not text", []string{"-d", "@" + binary}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Method, s.Chains[0].Steps[0].Request.BodyBase64 = "POST", "/w=="
		})},
		{"an empty body", []string{"-d", ""}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Chains[0].Steps[0].Request.Method = "POST"
		})},
		{"a method, with a body too", []string{"-X", "PUT", "-d", "x", "--timeout", "2"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			r := s.Chains[0].Steps[0].Request
			r.Method, r.Body, r.Timeout = "PUT", "x", duration(2*time.Second)
		})},
		{"a rate below one per second", []string{"--rps", "0.5"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{{Name: "load", Requests: ptr.To[int64](1), RequestsPer: &v1alpha1.RequestsPer{Count: 1, Period: *duration(2 * time.Second)}}}
		})},
		{"a rate with decimals", []string{"--rps", "33.30"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{{Name: "load", Requests: ptr.To[int64](1), RequestsPer: &v1alpha1.RequestsPer{Count: 333, Period: *duration(10 * time.Second)}}}
		})},
		{"a whole rate with decimals", []string{"--rps", "500.0"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{{Name: "load", Requests: ptr.To[int64](1), RequestsPerSecond: ptr.To[int64](500)}}
		})},
		{"requests in flight, in the warm-up too", []string{"--concurrency", "3", "-m", "9", "-n", "9", "--warm-up-time", "500ms"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].MaxConcurrentStreams, s.Targets[0].HTTP1 = 9, &v1alpha1.HTTP1{Pipeline: 9}
			loop := &v1alpha1.ClosedLoop{Concurrency: ptr.To[int64](3)}
			s.Rates = []v1alpha1.Rate{
				{Name: "warm-up", WarmUp: true, ClosedLoop: loop, Duration: duration(500 * time.Millisecond)},
				{Name: "load", ClosedLoop: loop, Requests: ptr.To[int64](9)},
			}
		})},
		{"a ramp", []string{"--ramp-from", "0", "--rps", "500", "-D", "10s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{{Name: "load", Duration: duration(10 * time.Second), RequestsPerSecond: ptr.To[int64](500), RampFrom: ptr.To[int64](0)}}
		})},
		{"a ramp to a rate with decimals", []string{"--ramp-from", "100", "--rps", "33.3", "-D", "10s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{{Name: "load", Duration: duration(10 * time.Second), RequestsPer: &v1alpha1.RequestsPer{Count: 333, Period: *duration(10 * time.Second)}, RampFrom: ptr.To[int64](1000)}}
		})},
		{"a ramp from the highest rate that the decimals allow", []string{"--ramp-from", "20000", "--rps", "1234.5678", "-D", "10s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{{Name: "load", Duration: duration(10 * time.Second), RequestsPer: &v1alpha1.RequestsPer{Count: 6172839, Period: *duration(5000 * time.Second)}, RampFrom: ptr.To[int64](100_000_000)}}
		})},
		{"a ramp of requests in flight", []string{"--ramp-from", "1", "--concurrency", "64", "-D", "10s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{{Name: "load", Duration: duration(10 * time.Second), ClosedLoop: &v1alpha1.ClosedLoop{Concurrency: ptr.To[int64](64)}, RampFrom: ptr.To[int64](1)}}
		})},
		{"bursts, in the warm-up too", []string{"--arrivals", "Burst", "--burst-size", "10", "--rps", "500", "--warm-up-time", "1s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			burst := v1alpha1.Rate{RequestsPerSecond: ptr.To[int64](500), Arrivals: v1alpha1.ArrivalsBurst, BurstSize: ptr.To[int64](10)}
			warm, load := burst, burst
			warm.Name, warm.WarmUp, warm.Duration = "warm-up", true, duration(time.Second)
			load.Name, load.Requests = "load", ptr.To[int64](1)
			s.Rates = []v1alpha1.Rate{warm, load}
		})},
		{"HTTP/1.1", []string{"--h1", "--insecure"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Protocol = v1alpha1.ProtocolHTTP1
		})},
		{"HTTP/3", []string{"--h3", "-m", "8"}, "https://h", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Targets[0].Protocol, s.Targets[0].MaxConcurrentStreams = "https://h", v1alpha1.ProtocolH3, 8
		})},
		{"HTTP/1.1 with pipelining", []string{"--h1", "-m", "8"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Protocol, s.Targets[0].MaxConcurrentStreams = v1alpha1.ProtocolHTTP1, 8
			s.Targets[0].HTTP1 = &v1alpha1.HTTP1{Pipeline: 8}
		})},
		{"HTTP/1.1 with a body is not pipelined", []string{"--h1", "-m", "8", "-d", "@" + body}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Protocol, s.Targets[0].MaxConcurrentStreams = v1alpha1.ProtocolHTTP1, 8
			s.Chains[0].Steps[0].Request.Method, s.Chains[0].Steps[0].Request.Body = "POST", `{"cost":"$$$${x}"}`
		})},
		{"a connection for each request", []string{"--h1", "--no-keepalive"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Protocol, s.Targets[0].HTTP1 = v1alpha1.ProtocolHTTP1, &v1alpha1.HTTP1{KeepAlive: ptr.To(false)}
		})},
		{"https", nil, "https://h/a", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Chains[0].Steps[0].Request.Path = "https://h", "/a"
		})},
		{"https that may end in HTTP/1.1", []string{"--insecure", "-m", "100"}, "HTTPS://h", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Targets[0].MaxConcurrentStreams = "HTTPS://h", 100
			s.Targets[0].TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
			s.Targets[0].HTTP1 = &v1alpha1.HTTP1{Pipeline: 64}
		})},
		{"https that may not", []string{"--alpn", "h2", "-m", "2"}, "https://h", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Targets[0].MaxConcurrentStreams = "https://h", 2
			s.Targets[0].TLS = &v1alpha1.TLS{ALPN: []string{"h2"}}
		})},
		{"certificates", []string{"--cacert", "ca.pem", "--cert", "me.pem", "--key", "me-key.pem", "--sni", "s"}, "https://h", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL = "https://h"
			s.Targets[0].TLS = &v1alpha1.TLS{
				ServerName: "s", CAFrom: &v1alpha1.ContentSource{File: "ca.pem"},
				Certificate: &v1alpha1.ClientCertificate{Files: &v1alpha1.CertificateFiles{Certificate: "me.pem", Key: "me-key.pem"}},
			}
		})},
		{"a key in the certificate's file", []string{"--cert", "me.pem"}, "https://h", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL = "https://h"
			s.Targets[0].TLS = &v1alpha1.TLS{
				Certificate: &v1alpha1.ClientCertificate{Files: &v1alpha1.CertificateFiles{Certificate: "me.pem", Key: "me.pem"}},
			}
		})},
		{"suites, groups and protocols", []string{"--ciphers", "ECDHE-RSA-AES128-GCM-SHA256:TLS_RSA_WITH_RC4_128_SHA:?", "--groups", "X25519:P-256", "--alpn-list", "http/1.1,h2"}, "https://h", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL = "https://h"
			s.Targets[0].TLS = &v1alpha1.TLS{
				CipherSuites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA", "?"},
				Curves:       []string{"X25519", "P-256"}, ALPN: []string{"http/1.1", "h2"},
			}
		})},
		{"sizes", []string{"-w16", "-W", "20", "--max-frame-size", "32K", "--header-table-size", "0", "--encoder-header-table-size=1k"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].HTTP2 = &v1alpha1.HTTP2{
				StreamWindow: ptr.To[int32](65535), ConnectionWindow: ptr.To[int32](1<<20 - 1), MaxFrameSize: ptr.To[int32](32768),
				HeaderTableSize: ptr.To[int32](0), EncoderTableSize: ptr.To[int32](1024),
			}
		})},
		{"the greatest window", []string{"-w31"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].HTTP2 = &v1alpha1.HTTP2{StreamWindow: ptr.To[int32](1<<31 - 1)}
		})},
		{"a ramp, and limits", []string{"-r", "5", "-T", "60", "-N", "500ms"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Connecting = &v1alpha1.Connecting{
				Ramp: &v1alpha1.ConnectionRamp{Connections: 5, Period: duration(time.Second)}, MaxAge: duration(time.Minute), InactivityTimeout: duration(500 * time.Millisecond),
			}
		})},
		{"a ramp with a period, from two addresses", []string{"-r", "5", "--connection-rate-period", "100ms", "--local-address", "127.0.0.2", "--local-address=::1"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Connecting = &v1alpha1.Connecting{
				Ramp: &v1alpha1.ConnectionRamp{Connections: 5, Period: duration(100 * time.Millisecond)}, LocalAddresses: []string{"127.0.0.2", "::1"},
			}
		})},
		{"one connection first", []string{"--connection-choice", "Batch"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].ConnectionChoice = v1alpha1.ConnectionChoiceBatch
		})},
		{"another address", []string{"--connect-to", "b:2"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) { s.Targets[0].ConnectTo = "b:2" })},
		{"another host", []string{"--connect-to", "b"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) { s.Targets[0].ConnectTo = "b:1" })},
		{"another host, IPv6", []string{"--connect-to", "[::1]"}, "https://h", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Targets[0].ConnectTo = "https://h", "[::1]:443"
		})},
		{"a socket", []string{"--unix", "/run/s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) { s.Targets[0].ConnectTo = "unix:/run/s" })},
		{"not a URL is left to compile", nil, "h:1/x", base(func(s *v1alpha1.LoadTestSpec) { s.Targets[0].URL = "h:1/x" })},
		{"IPv6", nil, "http://[::1]:8080/x", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Chains[0].Steps[0].Request.Path = "http://[::1]:8080", "/x"
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			form := &urlForm{}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			form.register(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			got, err := form.loadTest(nil, tc.url)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func formOf(t *testing.T, args ...string) *urlForm {
	t.Helper()
	form := &urlForm{}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	form.register(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return form
}

// TestSeveralURLs: each has a template and a chain of its own, and the same of everything else; of
// very many the paths are the values of a variable.
func TestSeveralURLs(t *testing.T) {
	body := file(t, "body", "b")
	lt, err := formOf(t, "-d", "@"+body).loadTest(nil, "http://h:1/a?$b", "HTTP://H:1", "/c#d")
	if err != nil {
		t.Fatal(err)
	}
	s := &lt.Spec
	var got []string
	for _, c := range s.Chains {
		got = append(got, c.Name+" "+c.Steps[0].Name+" "+c.Steps[0].Request.Method+" "+c.Steps[0].Request.Path+" "+c.Steps[0].Request.Body)
	}
	want := []string{"request-1 request-1 POST /a?$$b b", "request-2 request-2 POST / b", "request-3 request-3 POST /c b"}
	if diff := cmp.Diff(want, got); diff != "" || s.Targets[0].URL != "http://h:1" {
		t.Errorf("target %s, chains (-want +got):\n%s", s.Targets[0].URL, diff)
	}
	many := make([]string, manyURLs+1)
	for i := range many {
		many[i] = "http://h:1/" + strings.Repeat("$", i)
	}
	if lt, err = formOf(t).loadTest(nil, many...); err != nil {
		t.Fatal(err)
	}
	s = &lt.Spec
	if len(s.Chains) != 1 || s.Chains[0].Steps[0].Request.Path != "${path}" || len(s.Variables[0].List.Values) != len(many) || s.Variables[0].List.Values[2] != "/$$" {
		t.Errorf("%+v, %+v", s.Chains, s.Variables)
	}
}

func TestParseOverride(t *testing.T) {
	for in, want := range map[string]override{
		"http://h":         {url: "http://h"},
		"a=http://h":       {target: "a", url: "http://h"},
		"http://h/?a=b":    {url: "http://h/?a=b"},
		"a-1=http://h/c=d": {target: "a-1", url: "http://h/c=d"},
		"":                 {},
	} {
		if got := parseOverride(in); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestOverrideReplacesTheWholeAddress(t *testing.T) {
	spec := &v1alpha1.LoadTestSpec{Targets: []v1alpha1.Target{
		{Name: "a", URLs: []string{"http://x", "http://y"}, ConnectTo: "unix:/s", Protocol: v1alpha1.ProtocolH2},
		{Name: "b", URL: "http://z", Protocol: v1alpha1.ProtocolH2C},
	}}
	if err := parseOverride("a=http://h").apply(spec, false); err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.Target{
		{Name: "a", URL: "http://h", Protocol: v1alpha1.ProtocolH2},
		{Name: "b", URL: "http://z", Protocol: v1alpha1.ProtocolH2C},
	}
	for in, want := range map[string]string{
		"a:http://h": `--target-url: "a:http://h" is not a URL; allowed: URL or NAME=URL, such as a=http://h`,
		"h:80":       `--target-url: "h:80" is not a URL; allowed: URL or NAME=URL, such as http://h:80`,
		"ftp://h":    `--target-url: "ftp://h" is not a URL; allowed: URL or NAME=URL, such as http://h:80`,
		"c=http://h": `--target-url: "c" is not a target of the manifest; allowed: "a", "b"`,
	} {
		if err := parseOverride(in).apply(spec, false); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if diff := cmp.Diff(want, spec.Targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	spec.Targets[0].TLS, spec.Targets[0].HTTP1 = &v1alpha1.TLS{}, &v1alpha1.HTTP1{}
	spec.Targets[0].Connecting = &v1alpha1.Connecting{LocalAddresses: []string{"192.0.2.1"}, Interface: "n6"}
	spec.Targets[0].FollowAltSvc = true
	if err := parseOverride("http://demo").apply(spec, true); err != nil {
		t.Fatal(err)
	}
	want = []v1alpha1.Target{
		{Name: "a", URL: "http://demo", Protocol: v1alpha1.ProtocolAuto, Connecting: &v1alpha1.Connecting{}},
		{Name: "b", URL: "http://demo", Protocol: v1alpha1.ProtocolAuto},
	}
	if diff := cmp.Diff(want, spec.Targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}
