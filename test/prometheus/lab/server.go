package lab

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Server is a Prometheus of its own: a process, its data in a directory that goes with the test.
type Server struct{ url string }

// Programs to start: that of the distribution, which "make prometheus-test" installs as root, and the one of
// hack/tools, which knows Kubernetes.
const (
	Packaged = "prometheus"
	Built    = Root + "/bin/tools/prometheus"
)

// Native lets Prometheus 2.40 to 3.8 take native histograms; it then takes no classic ones.
const Native = "--enable-feature=native-histograms"

// Start runs a program with a configuration until the test ends, or skips the test where there is none.
func Start(t *testing.T, program string, config map[string]any, flags ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIPPED: there is no %s: %v", program, err)
	}
	dir := t.TempDir()
	raw, err := yaml.Marshal(config)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "prometheus.yaml"), raw, 0o600))
	address := freeAddress(t)
	s := &Server{url: "http://" + address}
	cmd := exec.Command(program, append(flags, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")...)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	Await(t, "Prometheus to be ready", s.ready)
	return s
}

// URL is the address of the server, without a path.
func (s *Server) URL() string { return s.url }

func (s *Server) ready() bool {
	r, err := http.Get(s.url + "/-/ready")
	if err != nil {
		return false
	}
	defer r.Body.Close() //nolint:errcheck // nothing was read
	return r.StatusCode == http.StatusOK
}

// freeAddress is one that nobody listens on, most likely for a moment more.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close() //nolint:errcheck // it took no connection
	return l.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Await asks ten times a second, for half a minute, which bounds a failure only.
func Await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 300 {
		if done() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waited too long for %s", what)
}
