package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// set makes a condition of a status say what a cell says, at a time and about a generation of the spec.
func (c cell) set(st *v1alpha1.LoadTestStatus, kind string, generation int64, now time.Time) {
	if c.status == "" {
		meta.RemoveStatusCondition(&st.Conditions, kind)
		return
	}
	meta.SetStatusCondition(&st.Conditions, metav1.Condition{
		Type: kind, Status: c.status, Reason: c.reason, Message: shorten.To(c.message, run.MaxMessage),
		ObservedGeneration: generation, LastTransitionTime: *asStored(&metav1.Time{Time: now}),
	})
}

// current returns what a condition of a status says.
func current(st *v1alpha1.LoadTestStatus, kind string) cell {
	c := meta.FindStatusCondition(st.Conditions, kind)
	if c == nil {
		return cell{}
	}
	return cell{c.Status, c.Reason, c.Message}
}

// withNotes returns the message of Finished with the notes that the TTL has no effect and that the spec changed after
// the end, as far as they apply.
func withNotes(lt *v1alpha1.LoadTest, edited bool, message string) string {
	notes := ""
	if run.TTLIgnored(lt) {
		notes = v1alpha1.TTLIgnored
	}
	if edited {
		notes += v1alpha1.EditedAfterFinish
	}
	message = strings.TrimSuffix(strings.TrimSuffix(message, v1alpha1.EditedAfterFinish), v1alpha1.TTLIgnored)
	return shorten.To(message, run.MaxMessage-len(notes)) + notes
}

// joiningMessage describes the runners that the test runs without.
func joiningMessage(f *run.Facts, ready string) string {
	out := ready + "; the others join when they are ready"
	if with := f.Record.Start.With; with != nil {
		out += fmt.Sprintf(" (started with %d)", len(with))
	}
	if f.Problem != nil {
		out += "; " + f.Problem.Message
	}
	if f.View.NotDistributed != "" {
		out += "; " + f.View.NotDistributed
	}
	return out
}

func lostMessage(runners []v1alpha1.RunnerStatus) string {
	var out []string
	for _, r := range runners {
		if r.State == stateLost {
			out = append(out, fmt.Sprintf("runner %d (pod %s) was lost: %s", r.Shard, r.Pod, r.Message))
		}
	}
	if len(out) == 0 {
		return "a runner was lost; its shard has a new runner"
	}
	return strings.Join(out, "; ")
}

// silentMessage names the runners that do not answer; empty: all do.
func silentMessage(view *shards.View, desired int) string {
	silent := func(sh *shards.Shard) bool { return sh.Silent && sh.Lost == nil }
	for i := range view.Shards {
		if sh := &view.Shards[i]; silent(sh) {
			return fmt.Sprintf("%d of %d runners do not answer, and may still send load: runner %d (pod %s): %s",
				view.Count(silent), desired, i, sh.Pod.Name, shorten.To(sh.Trouble, 512))
		}
	}
	return ""
}
