//go:build prometheus

package prometheus

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// server is a Prometheus of its own: a process, its data in a directory that goes with the test.
type server struct {
	url string
	cmd *exec.Cmd
}

// native lets Prometheus 2.40 to 3.8 take native histograms; it then takes no classic ones.
const native = "--enable-feature=native-histograms"

func startServer(t *testing.T, config map[string]any, flags ...string) *server {
	t.Helper()
	dir := t.TempDir()
	raw, err := yaml.Marshal(config)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "prometheus.yaml"), raw, 0o600))
	address := freeAddress(t)
	s := &server{url: "http://" + address}
	s.cmd = exec.Command("prometheus", append(flags, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")...)
	s.cmd.Stderr = os.Stderr
	must(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	await(t, "Prometheus to be ready", func() bool {
		r, err := http.Get(s.url + "/-/ready")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return s
}

// freeAddress is one that nobody listens on, most likely for a moment more.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await bounds a failure only.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 300 {
		if done() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waited too long for %s", what)
}

// sampled is a series and its values.
type sampled struct {
	Metric     map[string]string
	Value      [2]any
	Values     [][2]any
	Histogram  []any
	Histograms []any
}

// data is true unless all values are NaN.
func (s sampled) data() bool {
	for _, v := range append(s.Values, s.Value) {
		if text, ok := v[1].(string); ok && text != "NaN" {
			return true
		}
	}
	return len(s.Histogram)+len(s.Histograms) > 0
}

func (s *server) get(path string, args url.Values, into any) error {
	r, err := http.Get(s.url + path + "?" + args.Encode())
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var answer struct {
		Error string
		Data  json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("%s %v: %s", path, args, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// over returns what a query gives from one instant to another, second by second.
func (s *server) over(t *testing.T, query string, from, to time.Time) []sampled {
	t.Helper()
	var out struct{ Result []sampled }
	must(t, s.get("/api/v1/query_range", url.Values{
		"query": {query}, "step": {"1"}, "start": {unix(from)}, "end": {unix(to)},
	}, &out))
	return out.Result
}

func unix(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// now returns the one value of a query, false when there is none or more than one.
func (s *server) now(t *testing.T, query string) (float64, bool) {
	t.Helper()
	var out struct{ Result []sampled }
	must(t, s.get("/api/v1/query", url.Values{"query": {query}}, &out))
	if len(out.Result) != 1 {
		return 0, false
	}
	text, _ := out.Result[0].Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
