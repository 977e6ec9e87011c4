package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestStageNotes(t *testing.T) {
	at := func(name string, from int64, windows int) runnerv1alpha1.ThresholdResult {
		return runnerv1alpha1.ThresholdResult{Name: name, Ramp: &runnerv1alpha1.RampBreak{Stage: "climb", Asked: 1234.5, From: from, To: from + 1000, Failed: 3, Windows: windows}}
	}
	for name, tt := range map[string]struct {
		stages     []runnerv1alpha1.StageResult
		thresholds []runnerv1alpha1.ThresholdResult
		want       []string
	}{
		"nothing": {stages: []runnerv1alpha1.StageResult{{Name: "a"}}, thresholds: []runnerv1alpha1.ThresholdResult{{Name: "fast"}}},
		"the first of two": {
			thresholds: []runnerv1alpha1.ThresholdResult{at("late", 9000, 5), {Name: "never"}, at("early", 4000, 7)},
			want:       []string{"Stage climb reached 1234 requests per second when threshold early first failed, 4.00 s after the start. It failed in 3 of 7 windows of the stage."},
		},
		"a window of its own": {
			thresholds: []runnerv1alpha1.ThresholdResult{at("own", 4000, 0)},
			want:       []string{"Stage climb reached 1234 requests per second when threshold own first failed, 4.00 s after the start."},
		},
		"no figures": {
			stages: []runnerv1alpha1.StageResult{{NoFigures: "x"}, {NoFigures: "y"}, {NoFigures: "y"}},
			want:   []string{"The times and errors of 1 stage are missing: x.", "The times and errors of 2 stages are missing: y."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &runnerv1alpha1.Report{Stages: tt.stages, Verdict: runnerv1alpha1.Verdict{Thresholds: tt.thresholds}}
			if diff := cmp.Diff(tt.want, stageNotes(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStageTimesOfOneStage: they are those of the run.
func TestStageTimesOfOneStage(t *testing.T) {
	hold := runnerv1alpha1.StageResult{Name: "hold", Sent: 1, Figures: &runnerv1alpha1.StageFigures{Done: 1, ResponseTime: runnerv1alpha1.Times{Count: 1, P50: 7, Max: 7}}}
	r := &runnerv1alpha1.Report{Stages: []runnerv1alpha1.StageResult{{Name: "warm", WarmUp: true}, hold}}
	if rows := stageTimeTable(r).Rows; rows != nil {
		t.Errorf("%v", rows)
	}
	r.Stages = append(r.Stages, hold)
	if rows := stageTimeTable(r).Rows; len(rows) != 2 || rows[1].Cells[0] != "hold" || rows[1].Cells[1] != timeCell(7) {
		t.Errorf("%v", rows)
	}
}
