package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/report/build"
)

// atLine calls a function at each line of a run's progress.
type atLine struct {
	bytes.Buffer
	line func()
}

func (a *atLine) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "in flight") {
		a.line()
	}
	return a.Buffer.Write(b)
}

// The manifest is edited after the first second; the target counts what comes in each.
func TestEndToEndManifestReadAgain(t *testing.T) {
	peer := serve(t, mock.Options{})
	// With a threshold, the verdict of a run on a busy machine is Inconclusive and its exit code 3.
	withoutThresholds, _, _ := strings.Cut(manifest, "  thresholds:")
	at := func(rate string) []byte {
		return []byte(strings.NewReplacer("requestsPerSecond: 100, duration: 1s", "requestsPerSecond: "+rate+", duration: 3s").Replace(withoutThresholds))
	}
	name := file(t, "m.yaml", string(at("200")))
	changed := false
	progress := &atLine{line: func() {
		if changed {
			return
		}
		changed = true
		if err := os.WriteFile(name, at("1000"), 0o600); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Error(err)
		}
	}}
	var out bytes.Buffer
	args := []string{"h2surge", "run", "-f", name, "-o", "json", "--target-url", "http://" + peer.Addr().String()}
	if code := execute(t.Context(), args, strings.NewReader(""), &out, progress, parts()); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, progress.String(), out.String())
	}
	if !strings.Contains(progress.String(), "stage r: rate 1000/s, was 200/s\n") || !strings.Contains(progress.String(), "of   1000/s") {
		t.Errorf("progress:\n%s", progress.String())
	}
	r := &rv.Report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatal(err)
	}
	if err := build.Check(r); err != nil {
		t.Error(err)
	}
	// 3 s at 200/s are 600; at least 1 s was at 200/s.
	if sent := r.Requests.Sent; uint64(sent) != peer.Stats().Requests || sent <= 650 || sent > 2250 {
		t.Errorf("sent %d, the target counted %d", sent, peer.Stats().Requests)
	}
	if !r.LoadChanged {
		t.Error("the report does not say that its rates changed")
	}
	if len(r.Windows) < 2 {
		t.Fatalf("windows: %+v", r.Windows)
	}
	// Which window sees the change depends on the machine.
	changed = slices.ContainsFunc(r.Windows, func(w rv.Window) bool { return w.Revision == firstRevision+1 && w.Asked >= 400 })
	if first := r.Windows[0]; first.Revision == firstRevision && first.Asked > 201 || !changed {
		t.Errorf("windows: %+v", r.Windows)
	}
}
