package flow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestWithin: after the load there is time until an instant. An instance in a pause that would end later goes to its always steps.
func TestWithin(t *testing.T) {
	always := func(s *rv.Step) { s.Always = true }
	think := func(s *rv.Step) { s.Think = &rv.Think{Fixed: time.Second} }
	late, early := int64(time.Minute), int64(time.Millisecond)
	for name, tt := range map[string]struct {
		steps []rv.Step
		// before is set while the instance is in its pause, and after when its first step is under way.
		before, after int64
		want          string
	}{
		"time enough":       {[]rv.Step{step("a"), step("b", think), step("c", always)}, late, late, "sleeps"},
		"no time":           {[]rv.Step{step("a"), step("b", think), step("c", always)}, early, never, "send c, always sent, ended stopped"},
		"none from now on":  {[]rv.Step{step("a"), step("b", think), step("c", always)}, never, early, "send c, always sent, ended stopped"},
		"no always steps":   {[]rv.Step{step("a"), step("b", think), step("c")}, early, early, "sleeps"},
		"its own pause":     {[]rv.Step{step("a"), step("c", always, think)}, early, never, "send c, ended"},
		"its own, later":    {[]rv.Step{step("a"), step("c", always, think)}, never, early, "send c, ended"},
		"two always steps":  {[]rv.Step{step("a"), step("b", think), step("c", always), step("d", always, think)}, early, never, "send c, always sent, send d, always sent, ended stopped"},
		"one in its pause":  {[]rv.Step{step("a"), step("c", always), step("d", always, think)}, early, never, "send c, send d, ended"},
		"nothing to reduce": {[]rv.Step{step("a"), step("b"), step("c", always)}, early, early, "send b, send c, ended"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &host{}
			f := newFlow(t, &rv.Plan{Chains: []rv.Chain{{Name: "c", Weight: 1, Steps: tt.steps}}}, h)
			a, _ := take(f, h, true)
			send(f, h, a)
			f.Within(tt.after)
			h.log = nil
			f.Ended(a, "", 0)
			if tt.before != never {
				f.Within(tt.before)
			}
			for a, ok := take(f, h, false); ok; a, ok = take(f, h, false) {
				send(f, h, a)
				f.Ended(a, "", 0)
			}
			if f.Sleeps() {
				h.log = append(h.log, "sleeps")
			}
			if diff := cmp.Diff(tt.want, strings.Join(h.log, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
