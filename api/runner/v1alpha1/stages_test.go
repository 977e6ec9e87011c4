package v1alpha1

import (
	"fmt"
	"slices"
	"testing"
)

func TestStageSelections(t *testing.T) {
	warm := Rate{Name: "warm", WarmUp: true}
	stage := func(name string) Rate { return Rate{Name: name} }
	on := func(of Selector, m Metric) Threshold { return Threshold{Metric: m, Of: of} }
	var many []Rate
	var all []string
	indices := []int{}
	for i := range MaxStageFigures + 2 {
		many = append(many, stage(fmt.Sprint("s", i)))
		if i < MaxStageFigures {
			all, indices = append(all, many[i].Name), append(indices, i)
		} else {
			indices = append(indices, FiguresNone)
		}
	}
	for name, tt := range map[string]struct {
		plan Plan
		own  []string
		of   []int
	}{
		"none":                {},
		"one measured stage":  {plan: Plan{Rates: []Rate{warm, stage("a")}}, of: []int{FiguresNone, FiguresOfRun}},
		"two measured stages": {plan: Plan{Rates: []Rate{warm, stage("a"), stage("b")}}, own: []string{"a", "b"}, of: []int{FiguresNone, 0, 1}},
		"a threshold has the figures of one": {
			plan: Plan{Rates: []Rate{stage("a"), stage("b"), stage("c")}, Thresholds: []Threshold{
				on(Selector{Chain: "x"}, MetricErrorRate), on(Selector{Stage: "b"}, MetricResponseTime), on(Selector{}, MetricResponseTime),
			}},
			own: []string{"a", "c"}, of: []int{2, 1, 3},
		},
		"thresholds on other figures of the stages": {
			plan: Plan{Rates: []Rate{stage("a"), stage("b")}, Thresholds: []Threshold{
				on(Selector{Stage: "a"}, MetricErrorRate), on(Selector{Stage: "a"}, MetricServiceTime), on(Selector{Stage: "b", StatusClass: 2}, MetricResponseTime),
			}},
			own: []string{"a", "b"}, of: []int{3, 4},
		},
		"a search": {plan: Plan{Rates: []Rate{warm, stage("probe-1"), stage("probe-2")}, Search: &Search{FirstStage: 1}}, of: []int{FiguresNone, FiguresNone, FiguresNone}},
		"too many": {plan: Plan{Rates: many}, own: all, of: indices},
	} {
		t.Run(name, func(t *testing.T) {
			own, of := tt.plan.StageSelections()
			var names []string
			for _, s := range own {
				if s != (Selection{Selector: Selector{Stage: s.Stage}, Time: MetricResponseTime}) || s.Derived() {
					t.Errorf("%+v is not of a stage", s)
				}
				names = append(names, s.Stage)
			}
			if !slices.Equal(names, tt.own) || !slices.Equal(of, tt.of) {
				t.Errorf("%q, %v; want %q, %v", names, of, tt.own, tt.of)
			}
		})
	}
}
