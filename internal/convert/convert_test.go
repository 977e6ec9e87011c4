package convert

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// filled is a draft that compiles.
func filled() *Draft {
	d := New("Of a test.", Options{Name: "My Test"})
	d.LoadTest.Spec = v1alpha1.LoadTestSpec{
		Targets:   []v1alpha1.Target{{Name: "a", URL: "http://a"}},
		Templates: []v1alpha1.Template{{Name: "t"}},
		Chains:    []v1alpha1.Chain{{Name: "c", Target: "a", Steps: []v1alpha1.Step{{Template: "t"}}}},
		Rates:     []v1alpha1.Rate{{Name: "r", ClosedLoop: &v1alpha1.ClosedLoop{}, Requests: new(int64(1))}},
	}
	return d
}

func TestManifest(t *testing.T) {
	d := filled()
	d.WarnAt("spec.templates[0].method", "field", "about\nsomething that is not there")
	d.WarnAt("spec.rates[0].requests", "bound", "is %d", 1)
	d.Warn("all", "is odd")
	d.Warn("all", "is odd")
	d.Body(&d.Spec().Templates[0], "b", "dir/body.bin", []byte{0xff})
	out, warnings, err := d.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	want := `# Of a test.
# What is not the same:
#   all: is odd
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata:
  name: my-test
spec:
  targets:
    - name: a
      url: http://a
  chains:
    - name: c
      target: a
      steps:
        - name: t
          # field: about something that is not there
          request:
            bodyFrom:
              configMapKeyRef:
                name: my-test-files
                key: dir-body.bin
              encoding: Binary
  rates:
    - name: r
      closedLoop: {}
      # bound: is 1
      requests: 1
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: my-test-files
binaryData:
  dir-body.bin: /w==
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"field: about something that is not there", "bound: is 1", "all: is odd"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// What cannot be compiled names the field of the input.
func TestOrigin(t *testing.T) {
	d := filled()
	d.Spec().Templates[0].Path = "x"
	d.Origin("spec.templates[0]", "requests[7]")
	d.Spec().Chains[0].Weight = -1
	_, _, err := d.Manifest()
	want := "spec.chains[0].weight: must be between 1 and 10000\nrequests[7]: cannot be converted: spec.chains[0].steps[0].request.path: must begin with / or with a capture"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	d.Fail("field", "is bad")
	if _, _, err := d.Manifest(); err == nil || err.Error() != "field: is bad" {
		t.Errorf("%v, want the mistake alone", err)
	}
}

func TestGather(t *testing.T) {
	d := filled()
	a := d.Gather("f", "..x y/z", "", []byte("1"))
	b := d.Gather("f", "x-y-z", "", []byte("1"))
	c := d.Gather("f", "x-y-z", "", []byte("2"))
	large := d.Gather("f", "large", "large.csv", make([]byte, maxGathered))
	if a.ConfigMapKeyRef.Key != "x-y-z" || b.ConfigMapKeyRef.Key != "x-y-z" || c.ConfigMapKeyRef.Key != "2-x-y-z" || large.File != "large.csv" {
		t.Errorf("%v %v %v %v", a.ConfigMapKeyRef, b.ConfigMapKeyRef, c.ConfigMapKeyRef, large)
	}
	if d.Gather("f", "large", "", make([]byte, maxGathered)); !d.Failed() {
		t.Error("what is too large and no file is possible")
	}
}

// TestLargeForApply: "kubectl apply" puts a copy of each object into an annotation, which has at most 256 KiB.
func TestLargeForApply(t *testing.T) {
	for _, tc := range []struct {
		name string
		fill func(*Draft)
		want []string
	}{
		{"small", func(d *Draft) { d.Gather("f", "small", "", make([]byte, 1000)) }, nil},
		{"file", func(d *Draft) { d.Gather("f", "large", "", bytes.Repeat([]byte("a"), 300<<10)) }, []string{"ConfigMap: is too large for kubectl apply; use kubectl apply --server-side, or kubectl h2surge run"}},
		{"body", func(d *Draft) {
			d.Body(&d.Spec().Templates[0], "b", "", bytes.Repeat([]byte("a"), MaxBody))
		}, []string{"LoadTest: is too large for kubectl apply; use kubectl apply --server-side, or kubectl h2surge run"}},
	} {
		d := filled()
		tc.fill(d)
		out, warnings, err := d.Manifest()
		if diff := cmp.Diff(tc.want, warnings); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
		}
		for _, w := range tc.want {
			if !bytes.Contains(out, []byte("#   "+w+"\n")) {
				t.Errorf("%s: no comment says: %s", tc.name, w)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"App_Session 1": "app-session-1", "--é--": "x", strings.Repeat("a", 49) + "-b": strings.Repeat("a", 49)} {
		if got := DashName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"-USER_ID": "USER_ID", "5g": "v5g", "a.b": "a_b", "": "v"} {
		if got := WordName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	d := filled()
	long := strings.Repeat("a", compile.MaxName)
	for _, want := range []string{long, long[:48] + "-2", long[:48] + "-3"} {
		if got := d.Unique("template", long); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSetRate(t *testing.T) {
	for _, tc := range []struct {
		perSecond float64
		want      v1alpha1.Rate
		ok        bool
	}{
		{0, v1alpha1.Rate{ClosedLoop: &v1alpha1.ClosedLoop{}}, true},
		{250, v1alpha1.Rate{RequestsPerSecond: new(int64(250))}, true},
		{0.3 * 4, v1alpha1.Rate{RequestsPer: &v1alpha1.RequestsPer{Count: 6, Period: *Given(5 * time.Second)}}, true},
		{1.0 / 60, v1alpha1.Rate{RequestsPer: &v1alpha1.RequestsPer{Count: 1, Period: *Given(time.Minute)}}, true},
		{-1, v1alpha1.Rate{}, false},
		{1e9, v1alpha1.Rate{}, false},
		{1e-9, v1alpha1.Rate{}, false},
		{math.NaN(), v1alpha1.Rate{}, false},
	} {
		var got v1alpha1.Rate
		if ok := SetRate(&got, tc.perSecond); ok != tc.ok {
			t.Errorf("%g: %v", tc.perSecond, ok)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%g (-want +got):\n%s", tc.perSecond, diff)
		}
	}
}

func TestSplitURL(t *testing.T) {
	for raw, want := range map[string]URL{
		"HTTP://Host:80?a=b#c":     {"http", "host", "/?a=b"},
		"https://[2001:DB8::1]/é ": {"https", "[2001:db8::1]", "/%C3%A9%20"},
		"https://h:80/a%20b":       {"https", "h:80", "/a%20b"},
	} {
		got, _, err := SplitURL(raw)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{"", "host", "ftp://h", "http://", "http://[::1", "http://:80/"} {
		if got, _, err := SplitURL(raw); err == nil {
			t.Errorf("%q: %v, want an error", raw, got)
		}
	}
}

// FuzzScalar: any text is read back as it was, by a reader of YAML 1.1.
func FuzzScalar(f *testing.F) {
	for _, s := range []string{"", "yes", "1e3", "0x1", "1:20", "2030-01-01", "a: b", "a #b", "a\nb\n", "a\n\n", "\ta\n", " a\nb", "a \nb", "<<", "=", "~", "5s", "1m0s", "'", "\u0085\u2028\ufeff", "a\r\n", "---\na", "...\n", "%a", "x\n  y\n z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		d := filled()
		d.LoadTest.Annotations = map[string]string{"k": s}
		d.files["k"] = []byte(s)
		out, err := d.encode()
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range strings.Split(string(out), "\n---\napiVersion: v1\n") {
			var got struct {
				Metadata struct{ Annotations map[string]string }
				Data     map[string]string
			}
			if err := yaml.Unmarshal([]byte(doc), &got); err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
			if i == 0 && got.Metadata.Annotations["k"] != s || i == 1 && got.Data["k"] != s {
				t.Errorf("%q became %q, %q", s, got.Metadata.Annotations["k"], got.Data["k"])
			}
		}
	})
}
