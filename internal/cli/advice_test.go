package cli

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// http1Only answers whatever comes as a server does that knows nothing but HTTP/1.1.
func http1Only(t *testing.T) (address string) {
	t.Helper()
	return listen(t, func(c net.Conn) {
		defer c.Close() //nolint:errcheck // a test's
		_, _ = c.Read(make([]byte, 1<<10))
		_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"))
	})
}

// listen accepts connections until the test ends, and serves each in a goroutine.
func listen(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// impatient are the parts of a run whose targets must be connected within three seconds.
func impatient() linked {
	p := parts()
	newEngine := p.newEngine
	p.newEngine = func(plan *rv.Plan, cpus []int, listen string) (engine, error) {
		for i := range plan.Targets {
			plan.Targets[i].ConnectTimeout = 3 * time.Second
		}
		return newEngine(plan, cpus, listen)
	}
	return p
}

// TestAdvice: what failed is said in words, with the flag to change, or with the field.
func TestAdvice(t *testing.T) {
	waits(t)
	peer := newWeb(t, &tls.Config{MinVersion: tls.VersionTLS12})
	for name, tc := range map[string]struct {
		url, tls    string
		flags       []string
		cause       string
		flag, field string
	}{
		"unknown authority": {
			peer.url, "", nil,
			"TLS failed: x509: certificate signed by unknown authority (" + strings.TrimPrefix(peer.url, "https://") + "); ",
			"give the CA's certificate with --cacert", "set tls.caFrom to the CA's certificate",
		},
		"wrong name": {
			peer.url, fmt.Sprintf("caFrom: {file: %q}, serverName: other.example", peer.ca), []string{"--cacert", peer.ca, "--sni", "other.example"},
			"x509: certificate is valid for example.com, *.example.com, not other.example",
			"give a name the certificate has with --sni", "set tls.serverName to a name in the certificate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			manifest := fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: advised}
spec:
  targets: [{name: t, url: %q, tls: {%s}}]
  templates: [{name: get}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: r, closedLoop: {}, requests: 1}]
`, tc.url, tc.tls)
			if tc.tls == "" {
				manifest = strings.ReplaceAll(manifest, ", tls: {}", "")
			}
			for advice, args := range map[string][]string{tc.flag: append([]string{tc.url}, tc.flags...), tc.field: {"-f", "-"}} {
				t.Run(args[0], func(t *testing.T) {
					waits(t)
					var out, errors bytes.Buffer
					code := execute(t.Context(), append([]string{"h2surge", "run", "-q"}, args...), strings.NewReader(manifest), &out, &errors, impatient())
					if got := errors.String(); code != 5 || !strings.Contains(got, tc.cause) || !strings.HasSuffix(got, "; "+advice+"\n") {
						t.Errorf("%v: exit code %d, %s", args, code, got)
					}
					if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), advice) {
						t.Errorf("%v: the report lacks the advice:\n%s", args, out.String())
					}
				})
			}
		})
	}
}

// TestFilesOfTLS: a certificate that cannot be read is a mistake on the command line, as it is in a manifest.
func TestFilesOfTLS(t *testing.T) {
	none, bad := t.TempDir()+"/none.pem", file(t, "bad.pem", "this is not a certificate")
	for _, tc := range []struct {
		tls  string
		args []string
		want string // of a manifest with the field, and with what was typed
		typed,
		field string
	}{
		{fmt.Sprintf("caFrom: {file: %q}", none), []string{"--cacert", none}, "file " + none + ": no such file or directory", "--cacert", "tls.caFrom.file"},
		{fmt.Sprintf("caFrom: {file: %q}", bad), []string{"--cacert", bad}, "contains no certificate", "--cacert", "tls.caFrom"},
		{fmt.Sprintf("certificate: {files: {certificate: %[1]q, key: %[1]q}}", bad), []string{"--cert", bad}, "tls: failed to find any PEM data in certificate input", "--cert", "tls.certificate"},
	} {
		manifest := fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: files}
spec:
  targets: [{name: t, url: "https://127.0.0.1:1", tls: {%s}}]
  templates: [{name: get}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: r, closedLoop: {}, requests: 1}]
`, tc.tls)
		at := file(t, "m.yaml", manifest)
		for want, args := range map[string][]string{
			tc.typed + ": " + tc.want + "\n":                               append(tc.args, "https://127.0.0.1:1"),
			at + ":5: spec.targets[0]." + tc.field + ": " + tc.want + "\n": {"-f", at},
		} {
			var out, errors bytes.Buffer
			code := execute(t.Context(), append([]string{"h2surge", "run"}, args...), nil, &out, &errors, parts())
			if code != 1 || errors.String() != want {
				t.Errorf("%v: exit code %d\n%s, want\n%s", args, code, errors.String(), want)
			}
		}
	}
}

func TestWarningsNameFlags(t *testing.T) {
	bad := file(t, "bad.pem", "this is not a certificate")
	var errs strings.Builder
	args := []string{"h2surge", "run", "-H", ":method: post", "--cacert", bad, "https://127.0.0.1:1"}
	code := execute(t.Context(), args, strings.NewReader(""), io.Discard, &errs, parts())
	want := "warning: -H: methods are case-sensitive, and this one is not all upper case\n--cacert: contains no certificate\n"
	if errs.String() != want || code != 1 {
		t.Errorf("exit code %d\n%s, want\n%s", code, errs.String(), want)
	}
}
