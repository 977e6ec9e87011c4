package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// program builds h2surge and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h2surge")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// initialised matches a line of GODEBUG=inittrace=1: the package and the bytes that its initialisation allocates.
var initialised = regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, `)

// TestInitialisation bounds the memory that packages allocate before main. It stands for the time of a start, which a test cannot assert:
// 5 MB took 15 ms of CPU, because each fresh page is a page fault and 4 MB start the garbage collector. Compile regular expressions with
// package lazy and parse templates when they are needed. A library that needs more must not be in h2surge.
func TestInitialisation(t *testing.T) {
	const (
		// protocompile has the descriptors of google/protobuf, 191 KiB, and protodesc 162.
		each = 200 << 10
		all  = 1200 << 10
		// The library compiles the meta-schemas of all drafts, 1.7 MB. It has no lazy form.
		schemas, ofSchemas = "github.com/santhosh-tekuri/jsonschema/v6", 1800 << 10
	)
	cmd := exec.CommandContext(t.Context(), program(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	lines := initialised.FindAllStringSubmatch(trace.String(), -1)
	if len(lines) < 20 {
		t.Fatalf("the trace has only %d packages:\n%s", len(lines), trace.String())
	}
	sum := 0
	for _, line := range lines {
		bytes, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		limit := each
		if line[1] == schemas {
			limit = ofSchemas
		} else {
			sum += bytes
		}
		if bytes > limit {
			t.Errorf("%s allocates %d bytes before main; allowed: %d", line[1], bytes, limit)
		}
	}
	if sum > all {
		t.Errorf("packages allocate %d bytes before main, without %s; allowed: %d", sum, schemas, all)
	}
}

// TestStandardOutput runs the program with a standard output that takes no report.
func TestStandardOutput(t *testing.T) {
	h2surge := program(t)
	const full = "standard output: write /dev/stdout: no space left on device\n"
	for _, tc := range []struct {
		args, to string
		code     int
		says     string
	}{
		{"run http://127.0.0.1:1/", ">&-", 1, "standard output: is closed, "},
		{"search http://127.0.0.1:1/ --p99 20ms", ">&-", 1, "standard output: is closed, "},
		{"run --dry-run http://127.0.0.1:1/", ">&-", 1, "standard output: is closed, "},
		{"run --dry-run http://127.0.0.1:1/", ">/dev/full", 5, full},
		{"explain spec", ">/dev/full", 5, full},
		{"lint ../../config/samples/quickstart.yaml", ">/dev/full", 5, full},
		{"schema", ">/dev/full", 5, full},
		{"try --dry-run ../../config/samples/quickstart.yaml", ">/dev/full", 5, full},
		{"version", ">/dev/full", 5, full},
		{"--version", ">/dev/full", 5, full},
		{"--help", ">/dev/full", 5, full},
		{"run --help", ">/dev/full", 5, full},
		{"help run", ">/dev/full", 5, full},
		{"completion bash", ">/dev/full", 5, full},
		{"__complete explain spec.", ">/dev/full", 5, full},
		{"convert curl -- http://127.0.0.1:1/", ">/dev/full", 5, full},
		{"lint ../../config/samples/quickstart.yaml", ">/dev/null", 0, ""},
		{"lint ../../config/samples/quickstart.yaml", "1<>/dev/null", 0, ""},
		{"run --dry-run http://127.0.0.1:1/", ">/dev/null", 0, ""},
		{"run --dry-run http://127.0.0.1:1/", "| cat >/dev/null", 0, ""},
	} {
		t.Run(tc.args+" "+tc.to, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", "\"$0\" "+tc.args+" "+tc.to, h2surge)
			var says strings.Builder
			cmd.Stderr = &says
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(says.String(), tc.says) || code == 0 && says.Len() > 0 {
				t.Errorf("exit code %d, says %q, want %d and %q", code, says.String(), tc.code, tc.says)
			}
		})
	}
}

// withSecret is a manifest with a file that comes from a Secret. %s is the URL of the target.
const withSecret = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: small}
spec:
  targets: [{name: a, url: "%s", protocol: http1}]
  chains:
    - name: c
      target: a
      steps:
        - {name: one, request: {method: POST, path: /, bodyFrom: {secretKeyRef: {name: s, key: body}}}}
        - {name: two, request: {method: GET, path: /}}
  rates: [{name: r, requestsPerSecond: 10, duration: 10s}]
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {body: secret}
`

// TestBrokenPipe: the program ends when the reader of its output has ended, and leaves no Secrets behind.
func TestBrokenPipe(t *testing.T) {
	h2surge := program(t)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	for _, tc := range []struct {
		args string
		// stderr is true if standard error has no reader; else standard output has none.
		stderr bool
		code   int
		says   string
	}{
		{"schema", false, 141, ""},
		{"try", false, 141, ""},
		{"try -o curl", false, 141, ""},
		{"try --dry-run", false, 141, ""},
		{"run", true, 4, "Verdict: Stopped"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			cmd, left := inTemporary(t, h2surge, strings.Fields(tc.args)...)
			if tc.args != "schema" {
				cmd.Args = append(cmd.Args, "-f", "-")
				cmd.Stdin = strings.NewReader(fmt.Sprintf(withSecret, target.URL))
			}
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer write.Close()
			read.Close()
			var says strings.Builder
			cmd.Stdout, cmd.Stderr = write, &says
			if tc.stderr {
				cmd.Stdout, cmd.Stderr = &says, write
			}
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(says.String(), tc.says) || tc.says == "" && says.Len() > 0 {
				t.Errorf("%v, says %q, want %d and %q", cmd.ProcessState, says.String(), tc.code, tc.says)
			}
			left()
		})
	}
}

// TestInterruptedReflection: an interrupt while a target does not answer leaves no Secrets behind.
func TestInterruptedReflection(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	manifest := strings.Replace(fmt.Sprintf(withSecret, "http://"+silent.Addr().String()), "method: GET, path: /", "grpc: {service: a.B, method: C}", 1)
	manifest = strings.Replace(manifest, ", protocol: http1", "", 1)
	cmd, left := inTemporary(t, program(t), "try", "--reflection", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	var says strings.Builder
	cmd.Stderr = &says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		silent.Close() // so that Accept returns if the program did not connect
		close(ended)
	}()
	if conn, err := silent.Accept(); err == nil {
		defer conn.Close()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
	<-ended
	if cmd.ProcessState.ExitCode() != 4 || says.String() != "interrupted\n" {
		t.Errorf("%v, says %q", cmd.ProcessState, says.String())
	}
	left()
}

// inTemporary returns a command with a directory of its own for temporary files, and a function that fails if something is
// left there.
func inTemporary(t *testing.T, name string, args ...string) (*exec.Cmd, func()) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	return cmd, func() {
		t.Helper()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	}
}
