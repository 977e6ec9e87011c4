package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestCurlFlags: flags of curl say the same to run and to convert curl.
func TestCurlFlags(t *testing.T) {
	lines := file(t, "lines.txt", "a=1\nb=2\n")
	request := func(args ...string) *v1alpha1.Request {
		t.Helper()
		got := h2surge(t, nil, nil, args...)
		document, _, _ := strings.Cut(got.out, "\n---\n")
		var lt v1alpha1.LoadTest
		if err := yaml.Unmarshal([]byte(document), &lt); err != nil || got.code != 0 {
			t.Fatalf("%v: exit code %d: %v\n%s", args, got.code, err, got.errors)
		}
		return lt.Spec.Chains[0].Steps[0].Request
	}
	for _, flags := range [][]string{
		{"--data-raw", "@x"},
		{"--data-binary", "@" + lines},
		{"--data-urlencode", "a=b c", "--data-raw", "x=1"},
		{"--json", "{", "--json", "}"},
		{"-F", "a=b;type=text/x", "-F", "f=@" + lines, "--form-string", "s=@x"},
		{"-F", "a=b", "-H", "Content-Type: multipart/form-data"},
		{"-G", "--data-urlencode", "q=a b"},
		{"-I", "-L"},
		{"-A", "me", "-e", "http://from.example", "-b", "a=b", "-b", "c=d"},
		{"-X", "PUT", "--json", "[]", "-H", "accept:", "-H", "X-Empty;"},
		{"--oauth2-bearer", "t"},
	} {
		line := append(flags, "http://shop.example/items?a=1")
		want := request(append([]string{"convert", "curl", "--"}, line...)...)
		if diff := cmp.Diff(want, request(append([]string{"run", "--dry-run"}, line...)...)); diff != "" {
			t.Errorf("%v (-convert +run):\n%s", flags, diff)
		}
	}
}

// TestSecretsOfFlags: --dry-run warns of a manifest with a secret or with files of this machine.
func TestSecretsOfFlags(t *testing.T) {
	const contains = ": the manifest contains the value, which every reader of the manifest can see; use "
	ca := file(t, "ca.pem", "")
	for _, tc := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"-u", "a:b"}, []string{"-u" + contains + "auth.basic of the target"}},
		{[]string{"--oauth2-bearer", "a"}, []string{"--oauth2-bearer" + contains + "auth.bearer of the target"}},
		{[]string{"-H", "authorization: Bearer s"}, []string{"-H" + contains + "valueFrom, or auth of the target"}},
		{[]string{"-H", "Proxy-Authorization:s", "-H", "authorization: s"}, []string{"-H" + contains + "valueFrom, or auth of the target"}},
		{[]string{"-H", "Cookie: a=s"}, []string{"-H" + contains + "valueFrom if it is secret"}},
		{[]string{"-b", "session=s", "-b", "c=d"}, []string{"-b" + contains + "valueFrom if it is secret"}},
		{[]string{"-H", "authorization:", "-H", "cookie;", "-H", "x: authorization: s", "-b", "jar.txt"}, []string{"-b: a file of cookies is left out; write 'name=value'"}},
		{[]string{"--cacert", ca, "--cert", ca}, []string{
			"--cacert: is a path on the machine of the runner: in a cluster, use configMapKeyRef",
			"--cert: is a path on the machine of the runner: in a cluster, use secretRef",
		}},
	} {
		got := h2surge(t, nil, nil, append(append([]string{"run", "--dry-run"}, tc.flags...), "https://a.example")...)
		want := "warning: " + strings.Join(tc.want, "\nwarning: ") + "\n"
		if diff := cmp.Diff(want, got.errors); got.code != 0 || diff != "" {
			t.Errorf("%v: exit code %d (-want +got):\n%s", tc.flags, got.code, diff)
		}
	}
}

// TestCurlFlagsAreSent: a server gets what the flags say.
func TestCurlFlagsAreSent(t *testing.T) {
	waits(t)
	type got struct{ method, query, user, kind, body string }
	requests := make(chan got, 10)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		requests <- got{r.Method, r.URL.RawQuery, user + ":" + password, r.Header.Get("Content-Type"), string(body)}
	}))
	t.Cleanup(web.Close)
	for _, tc := range []struct {
		flags []string
		want  got
	}{
		{[]string{"-u", "me:a:b", "--json", `{"a":"$1"}`}, got{"POST", "", "me:a:b", "application/json", `{"a":"$1"}`}},
		{[]string{"-G", "-d", "a=1", "--data-urlencode", "b=&"}, got{"GET", "a=1&b=%26", ":", "", ""}},
		{[]string{"--data-binary", "@" + file(t, "binary", "\xff\x00")}, got{"POST", "", ":", "application/x-www-form-urlencoded", "\xff\x00"}},
	} {
		var out, errs strings.Builder
		code := execute(t.Context(), append(append([]string{"h2surge", "run", "-q", "--h1"}, tc.flags...), web.URL), strings.NewReader(""), &out, &errs, parts())
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s%s", tc.flags, code, out.String(), errs.String())
		}
		if diff := cmp.Diff(tc.want, <-requests, cmp.AllowUnexported(got{})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.flags, diff)
		}
	}
}
