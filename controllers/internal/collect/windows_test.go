package collect

import (
	"testing"
	"time"
)

// TestWindows: they are there at the end, count everything, and show what was asked when.
func TestWindows(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		f.wait(3 * time.Second)
		f.patch(2, 400, false)
		if v := f.wait(3 * time.Second); v.Progress.Report.Windows != nil {
			t.Errorf("%d windows of a run that is not over", len(v.Progress.Report.Windows))
		}
		v := f.end(10 * time.Minute)
		if !v.Over() || v.Progress.Report.WindowsFrom != 0 {
			t.Fatalf("%v, windows from %d", states(v), v.Progress.Report.WindowsFrom)
		}
		var sent int64
		revisions, asked := map[int64]bool{}, map[float64]bool{}
		for _, w := range v.Progress.Report.Windows {
			sent += w.Sent
			revisions[w.Revision], asked[w.Asked] = true, true
		}
		if want := f.sent(v); sent != want {
			t.Errorf("%d windows have %d requests, want %d", len(v.Progress.Report.Windows), sent, want)
		}
		if len(revisions) < 2 || !asked[400] {
			t.Errorf("revisions %v, asked %v", revisions, asked)
		}
	})
}
