package cluster

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/build"
)

// since returns the time from an instant until now in whole seconds. It is never negative, even if clocks differ.
func since(t, now time.Time) time.Duration { return max(0, now.Sub(t)).Round(time.Second) }

// age returns the time from the start of a test, or from its creation if it has not started, until its end.
func age(lt *v1alpha1.LoadTest, now time.Time) time.Duration {
	from := lt.CreationTimestamp.Time
	if lt.Status.StartTime != nil {
		from = lt.Status.StartTime.Time
	}
	if lt.Status.CompletionTime != nil {
		now = lt.Status.CompletionTime.Time
	}
	return since(from, now)
}

func phase(lt *v1alpha1.LoadTest) string {
	if lt.Status.Phase == "" {
		return "no status from the operator yet"
	}
	return mask.Line(string(lt.Status.Phase))
}

// sending reports whether the load has begun and has not ended.
func sending(lt *v1alpha1.LoadTest) bool {
	return lt.Status.StartTime != nil && lt.Status.CompletionTime == nil && lt.Status.Phase != v1alpha1.PhaseFinishing
}

// stageText returns the active stage, such as "hold (2 of 2), 51s of 1m0s"; empty: no load is sent, or the stage is
// not known.
func stageText(lt *v1alpha1.LoadTest, now time.Time) string {
	if !sending(lt) {
		return ""
	}
	if text := searchText(lt); text != "" {
		return text
	}
	s := StageAt(lt, now)
	if !s.Known || s.Over {
		return ""
	}
	r := &lt.Spec.Rates[s.Index]
	text := fmt.Sprintf("%s (%d of %d), %s", mask.Line(r.Name), s.Index+1, len(lt.Spec.Rates),
		s.Elapsed.Round(time.Second))
	if s.Lasts > 0 {
		text += " of " + s.Lasts.Round(time.Second).String()
	}
	if from, to := r.RampFrom, compile.RateOf(r); from != nil && to.Period > 0 {
		text += fmt.Sprintf(", ramp from %s/s to %s/s", build.FormatRate(float64(*from)/to.Period.Seconds()),
			build.FormatRate(float64(to.Count)/to.Period.Seconds()))
	}
	if r.WarmUp {
		text += ", warm-up"
	}
	return text
}

// chainsUnit follows a rate of chainsPerSecond.
const chainsUnit = " chains"

// askedNow returns the desired rate: of the active stage while load is sent, else of the complete test. "max" means a
// closed loop.
func askedNow(lt *v1alpha1.LoadTest, now time.Time) string {
	if !sending(lt) {
		if lt.Status.Results == nil {
			return "-"
		}
		if chains := lt.Status.Results.Rate.AskedChains; chains != 0 {
			return rateText(chains) + chainsUnit
		}
		return rateText(lt.Status.Results.Rate.Asked)
	}
	if lt.Status.Phase == v1alpha1.PhaseSuspended {
		return "0"
	}
	s := StageAt(lt, now)
	if !s.Known {
		return "-"
	}
	r := &lt.Spec.Rates[s.Index]
	plan := compile.RateOf(r)
	rate := build.FormatRate(build.RateAt(&plan, s.Elapsed))
	switch {
	case r.ClosedLoop != nil:
		return "max"
	case r.ChainsPerSecond != nil:
		return rate + chainsUnit
	}
	return rate
}

// rateOf returns the achieved rate, and the desired rate if there is one, such as "60003/s of 60000/s".
func rateOf(lt *v1alpha1.LoadTest, now time.Time) string {
	switch asked := askedNow(lt, now); asked {
	case "max":
		return achieved(lt) + "/s (closed loop)"
	case "-":
		return achieved(lt) + "/s"
	default:
		return fmt.Sprintf("%s/s of %s/s", achieved(lt), asked)
	}
}

// rateText shortens a decimal of status; "0" is a closed loop.
func rateText(v float64) string {
	if v == 0 {
		return "max"
	}
	return build.FormatRate(v)
}

// achieved returns the rate of the last second while load is sent, else of the complete test.
func achieved(lt *v1alpha1.LoadTest) string {
	if s := lt.Status.Summary; s != nil && s.Rate != "" {
		return mask.Line(s.Rate)
	}
	return "-"
}

// timeText returns "> 5s" for a figure that is absent because it falls among requests without a response.
func timeText(us *int64, above int64) string {
	switch {
	case us == nil && above > 0:
		return rv.AboveText(build.FormatTime(above))
	case us == nil || *us == 0:
		return "-"
	}
	return build.FormatTime(*us)
}

// errorKinds returns the numbers of requests that did not succeed, the most frequent first.
func errorKinds(r *v1alpha1.Results) []build.Named {
	q := &r.Requests
	counts := map[string]int64{"failed checks": q.FailedChecks, "timed out": q.TimedOut, "reset": q.Reset,
		"connection lost": q.ConnectionLost, "dropped": q.Dropped}
	maps.DeleteFunc(counts, func(_ string, n int64) bool { return n == 0 })
	return build.MostFrequent(counts, len(counts))
}

func namedText(all []build.Named) string {
	parts := make([]string, 0, len(all))
	for _, n := range all {
		parts = append(parts, fmt.Sprintf("%s %d", mask.Line(n.Name), n.Count))
	}
	return strings.Join(parts, ", ")
}

// notable returns the conditions that the phase does not imply: why the test does not start, what failed, and the
// warnings of the compiler.
func notable(lt *v1alpha1.LoadTest) []metav1.Condition {
	var out []metav1.Condition
	ended := lt.Status.CompletionTime != nil
	for _, c := range lt.Status.Conditions {
		show := false
		switch c.Type {
		case v1alpha1.ConditionPlanReady:
			show = c.Status != metav1.ConditionTrue || strings.Contains(c.Message, "warnings:")
		case v1alpha1.ConditionRunnersReady:
			show = c.Status != metav1.ConditionTrue && (!ended || c.Reason == v1alpha1.ReasonRunnerLost)
		case v1alpha1.ConditionSucceeded:
			show = c.Status == metav1.ConditionFalse && ended
		case v1alpha1.ConditionFinished:
			show = strings.HasSuffix(c.Message, v1alpha1.EditedAfterFinish)
		case v1alpha1.ConditionReconciling:
			show = c.Reason == v1alpha1.ReasonChangeNotApplied
		}
		if show {
			out = append(out, c)
		}
	}
	return out
}

// startProblem returns why a test does not start.
func startProblem(lt *v1alpha1.LoadTest) string {
	for _, kind := range []string{v1alpha1.ConditionPlanReady, v1alpha1.ConditionRunnersReady} {
		if c := meta.FindStatusCondition(lt.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			return mask.Line(c.Message)
		}
	}
	return ""
}
