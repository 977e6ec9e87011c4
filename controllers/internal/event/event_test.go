package event

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"k8s.io/client-go/tools/events"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestEventsAreLogged: the log of the operator has the start, the end and the refusals of each run, one line each.
func TestEventsAreLogged(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	Send(logr.NewContext(t.Context(), log), events.NewFakeRecorder(2), &v1alpha1.LoadTest{}, []Event{{Reason: "Started", Note: "it runs"}, {Warning: true, Reason: "RunnerLost", Note: "gone"}})
	want := []string{`"level"=0 "msg"="Started" "note"="it runs"`, `"level"=0 "msg"="RunnerLost" "note"="gone"`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
