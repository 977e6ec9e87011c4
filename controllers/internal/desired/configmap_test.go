package desired

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// zipped is a report of any text.
func zipped(t *testing.T, text string) *corev1.ConfigMap {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return Report(loadTest(), out.Bytes())
}

// TestHostileReports: the memory that a baseline allocates is bounded, also if a tenant wrote it.
func TestHostileReports(t *testing.T) {
	for name, document := range map[string]string{
		"empty objects": `{"steps":[` + strings.Repeat("{},", 1<<20) + `{}]}`,
		"nulls":         `{"shards":[` + strings.Repeat("null,", 1<<19) + `null]}`,
		"members":       `{"statusCodes":{` + strings.Repeat(`"a":1,`, 1<<19) + `"":1}}`,
		"a long text":   `{"name":"` + strings.Repeat("a", 32<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			cm, left := zipped(t, document), BaselineSize
			left.Octets = 4 << 20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := DecodeBaseline(cm, &left)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "allowed: at most") {
				t.Errorf("error %v", err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
				t.Errorf("it allocates %d octets", n)
			}
		})
	}
}

// TestBaselinesShare: all baselines of a run together are bounded, because all of them are in memory.
func TestBaselinesShare(t *testing.T) {
	cm, left := zipped(t, `{"steps":[{},{}]}`), runnerv1alpha1.Size{Octets: 100, Elements: 9, Members: 100}
	if r, err := DecodeBaseline(cm, &left); err != nil || len(r.Steps) != 2 {
		t.Fatalf("%v, error %v", r, err)
	}
	if _, err := DecodeBaseline(cm, &left); err == nil {
		t.Error("no error")
	}
}
