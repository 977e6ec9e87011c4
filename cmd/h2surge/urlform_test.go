package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

func TestURLForm(t *testing.T) {
	body := file(t, "body", `{"cost":"$${x}"}`)
	duration := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	// base is what "-n 1 -c 1 -m 1 http://h:1" stands for; a row changes it.
	base := func(change func(*v1alpha1.LoadTestSpec)) v1alpha1.LoadTestSpec {
		spec := v1alpha1.LoadTestSpec{
			Targets:   []v1alpha1.Target{{Name: "target", URL: "http://h:1", Connections: ptr.To[int32](1), MaxConcurrentStreams: 1}},
			Templates: []v1alpha1.Template{{Name: "request", Method: "GET", Path: "/"}},
			Chains:    []v1alpha1.Chain{{Name: "request", Target: "target", Steps: []v1alpha1.Step{{Template: "request"}}}},
			Rates:     []v1alpha1.Rate{{Name: "load", Requests: ptr.To[int64](1), AsFastAsPossible: ptr.To(true)}},
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
			s.Rates[0].Requests = ptr.To[int64](100)
		})},
		{"numbers stuck to their flags", []string{"-n100", "-c20", "-m10"}, "http://h:1/", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Connections, s.Targets[0].MaxConcurrentStreams = ptr.To[int32](20), 10
			s.Rates[0].Requests = ptr.To[int64](100)
		})},
		{"a duration wins over a number", []string{"-n", "100", "-D", "10s"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates[0].Requests, s.Rates[0].Duration = nil, duration(10*time.Second)
		})},
		{"bare numbers are seconds", []string{"--duration=10", "--warm-up-time=5"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{
				{Name: "warm-up", WarmUp: true, Duration: duration(5 * time.Second), AsFastAsPossible: ptr.To(true)},
				{Name: "load", Duration: duration(10 * time.Second), AsFastAsPossible: ptr.To(true)},
			}
		})},
		{"a rate, in the warm-up too", []string{"--rps", "500", "-n", "9", "--warm-up-time", "500ms"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Rates = []v1alpha1.Rate{
				{Name: "warm-up", WarmUp: true, Duration: duration(500 * time.Millisecond), RequestsPerSecond: ptr.To[int64](500)},
				{Name: "load", Requests: ptr.To[int64](9), RequestsPerSecond: ptr.To[int64](500)},
			}
		})},
		{"path, query, fragment and dollars", nil, "http://h:1/a/${b}?c=$d#e", base(func(s *v1alpha1.LoadTestSpec) {
			s.Templates[0].Path = "/a/$${b}?c=$$d"
		})},
		{"a query alone", nil, "http://h:1?c=d", base(func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/?c=d" })},
		{"headers", []string{"-H", "x-a: b: c ", "-H", "x-d:e", "-H", ":method: PUT", "-H", "x-$: $"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Templates[0].Method = "PUT"
			s.Templates[0].Headers = []v1alpha1.Header{{Name: "x-a", Value: "b: c"}, {Name: "x-d", Value: "e"}, {Name: "x-$", Value: "$$"}}
		})},
		{"a body", []string{"-d", body}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Templates[0].Method, s.Templates[0].Body = "POST", `{"cost":"$$$${x}"}`
		})},
		{"a body with another method", []string{"-d", body, "-H", ":method: PATCH"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Templates[0].Method, s.Templates[0].Body = "PATCH", `{"cost":"$$$${x}"}`
		})},
		{"HTTP/1.1", []string{"--h1", "--insecure"}, "http://h:1", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].Protocol = v1alpha1.ProtocolHTTP1
		})},
		{"not a URL is left to compile", nil, "h:1/x", base(func(s *v1alpha1.LoadTestSpec) { s.Targets[0].URL = "h:1/x" })},
		{"IPv6", nil, "http://[::1]:8080/x", base(func(s *v1alpha1.LoadTestSpec) {
			s.Targets[0].URL, s.Templates[0].Path = "http://[::1]:8080", "/x"
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			form := &urlForm{}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			form.register(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			got, err := form.loadTest(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
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
	if diff := cmp.Diff(want, spec.Targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if err := parseOverride("http://demo").apply(spec, true); err != nil {
		t.Fatal(err)
	}
	for _, target := range spec.Targets {
		if target.URL != "http://demo" || target.Protocol != v1alpha1.ProtocolAuto {
			t.Errorf("%+v", target)
		}
	}
}
