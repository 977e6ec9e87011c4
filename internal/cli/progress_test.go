package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

func TestProgress(t *testing.T) {
	for _, tc := range []struct {
		name     string
		terminal bool
		want     string
	}{
		{name: "a file gets lines", want: "Running r\nDraining \n"},
		{
			name: "a terminal gets lines above a bar that stays", terminal: true,
			want: "[" + strings.Repeat("-", 40) + "]   0%  connecting" +
				clearLine + "Running r\n[" + strings.Repeat("#", 20) + strings.Repeat("-", 20) + "]  50%  r" +
				clearLine + "Draining \n[" + strings.Repeat("#", 40) + "] 100%  awaiting the last responses" +
				clearLine,
		},
	} {
		var w strings.Builder
		p := &progress{w: &w, terminal: tc.terminal, plan: testPlan(), line: func(l build.Live) string { return string(l.State) + " " + l.Stage }}
		p.begin()
		s := &rv.Snapshot{State: rv.StateRunning, StartedAt: 1, Clock: 1 + int64(5*time.Second), Stages: []rv.StageCounters{{Sent: 50}}}
		p.every(s)
		p.every(&rv.Snapshot{State: rv.StateDraining, StartedAt: 1, Clock: 1 + int64(11*time.Second), Stages: []rv.StageCounters{{Sent: 100, Ended: int64(10 * time.Second)}}})
		p.end()
		if diff := cmp.Diff(tc.want, w.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestDoing(t *testing.T) {
	for state, want := range map[rv.State]string{
		rv.StateWaiting: "connecting", rv.StateConnecting: "connecting", rv.StateSettingUp: "setting up", rv.StateReady: "hold", rv.StateRunning: "hold",
		rv.StateDraining: "awaiting the last responses", rv.StateDrained: "tearing down", rv.StateTearingDown: "tearing down",
	} {
		if got := doing(build.Live{State: state, Stage: "hold"}, false); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "h2surge "},
		{[]string{"version", "-o", "json"}, "\"goVersion\": \"go1."},
	} {
		if got := h2surge(t, nil, nil, tc.args...); got.code != 0 || !strings.Contains(got.out, tc.want) {
			t.Errorf("%v: exit code %d, %q", tc.args, got.code, got.out)
		}
	}
}
