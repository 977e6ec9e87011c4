package compile

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// The patterns are those of the CRD. durationPattern is the one of all other durations.
var (
	percentagePattern = lazy.Regexp(`^(100(\.0{1,9})?|[0-9]{1,2}(\.[0-9]{1,9})?)%$`)
	countLimitPattern = lazy.Regexp(`^[0-9]{1,12}(\.[0-9]{1,9})?(/s)?$`)
	rateLimitPattern  = lazy.Regexp(`^[0-9]{1,12}(\.[0-9]{1,9})?$`)
	durationPattern   = lazy.Regexp(`^([0-9]+(ns|us|\x{b5}s|ms|s|m|h))+$`)
	timePattern       = lazy.Regexp(`^([0-9]{1,12}(ns|us|\x{b5}s|ms|s|m|h)){1,6}$`)
)

// defaultAbortAfter is the default of abortAfter.
const defaultAbortAfter = 10 * time.Second

func (c *planner) thresholds() {
	path := field.NewPath("spec", "thresholds")
	for i := range c.spec.Thresholds {
		t := &c.spec.Thresholds[i]
		at := path.Index(i)
		c.threshold(at, t)
		if t.Baseline != nil || t.MaxIncrease != "" {
			c.baseline(at, t)
			continue
		}
		compiled := runnerv1alpha1.Threshold{
			Name: t.Name, Metric: runnerv1alpha1.Metric(t.Metric), Percentile: t.Percentile, Max: limitText(t.Max),
			Min: limitText(t.Min), Observation: t.Observation, PerUnit: t.PerUnit,
			Of: c.selector(at, t), AbortOnFail: t.AbortOnFail,
		}
		if t.Window != nil {
			compiled.Window = t.Window.Duration
		}
		c.abort(at, t, &compiled)
		c.plan.Thresholds = append(c.plan.Thresholds, compiled)
	}
}

func limitText(limit *intstr.IntOrString) string {
	if limit == nil {
		return ""
	}
	return limit.String()
}

func (c *checker) threshold(at *field.Path, t *v1alpha1.Threshold) {
	metric := runnerv1alpha1.Metric(t.Metric)
	if !metric.IsTime() && !metric.IsCount() && !metric.IsErrorRate() && t.Metric != v1alpha1.MetricRate &&
		t.Metric != v1alpha1.MetricObserved {
		return // the bounds report it
	}
	var check func(*field.Path, *intstr.IntOrString)
	switch {
	case metric.IsTime():
		check = c.timeLimit
	case metric.IsErrorRate():
		check = c.errorLimit
	case t.Metric == v1alpha1.MetricRate, t.Metric == v1alpha1.MetricObserved:
		check = c.rateLimit
	default:
		check = c.countLimit
	}
	if metric.IsTime() != (t.Percentile != "") {
		c.fail(at, "percentile is needed with times such as ResponseTime and Connect, and is not allowed with other metrics")
	}
	if t.Max != nil {
		check(at.Child("max"), t.Max)
	}
	if t.Min != nil {
		check(at.Child("min"), t.Min)
	}
}

// The runner does not keep metrics notOfTargets for each target, and notOfStages for each stage. It keeps ofClasses
// for each class of status codes.
var (
	notOfTargets = []v1alpha1.ThresholdMetric{v1alpha1.MetricObserved, v1alpha1.MetricLag, v1alpha1.MetricDropped,
		v1alpha1.MetricRetried,
		v1alpha1.MetricReconnects, v1alpha1.MetricChainsCompleted, v1alpha1.MetricChainsAborted}
	notOfStages = []v1alpha1.ThresholdMetric{v1alpha1.MetricLag, v1alpha1.MetricRetried, v1alpha1.MetricReconnects,
		v1alpha1.MetricChainsCompleted, v1alpha1.MetricChainsAborted}
	ofClasses = []v1alpha1.ThresholdMetric{v1alpha1.MetricResponseTime, v1alpha1.MetricServiceTime,
		v1alpha1.MetricTimeToFirstByte, v1alpha1.MetricResponses}
)

// isOfTargets returns whether the threshold is on a time that only targets have.
func isOfTargets(t *v1alpha1.Threshold) bool { return runnerv1alpha1.Metric(t.Metric).OfTargets() >= 0 }

// selector returns the part of the requests that a threshold is on.
func (c *planner) selector(at *field.Path, t *v1alpha1.Threshold) runnerv1alpha1.Selector {
	out := runnerv1alpha1.Selector{Target: t.Target, Chain: t.Chain, Stage: t.Stage, Listener: t.Listener}
	c.listenerOf(at, t)
	c.observationOf(at, t)
	parts := 0
	for _, name := range []string{t.Target, t.Chain, t.Step} {
		if name != "" {
			parts++
		}
	}
	switch {
	case parts > 1:
		c.fail(at, "at most one of target, chain and step is allowed")
	case t.Target != "" && slices.Contains(notOfTargets, t.Metric):
		c.fail(at,
			"target is not allowed with Observed, Lag, Dropped, Retried, Reconnects, ChainsCompleted and ChainsAborted")
	case parts == 1 && t.Target == "" && (slices.Contains(notOfTargets, t.Metric) || isOfTargets(t)):
		c.fail(at, "chain and step are not allowed with Observed, Lag, Dropped, Retried, Reconnects, ChainsCompleted, ChainsAborted, and the times that only targets have")
	}
	if t.Target != "" {
		c.nameOf(at.Child("target"), "target", t.Target, c.targetNames())
	}
	if t.Chain != "" {
		c.nameOf(at.Child("chain"), "chain", t.Chain, c.loadChains())
	}
	if t.Step != "" {
		out.Chain, out.Step, _ = strings.Cut(t.Step, "/")
		c.nameOf(at.Child("step"), "step", t.Step, c.loadSteps())
	}
	if t.Stage != "" {
		c.stageOf(at, t)
	}
	if t.StatusClass != "" {
		out.StatusClass = int(t.StatusClass[0] - '0')
		if !slices.Contains(ofClasses, t.Metric) {
			c.fail(at, "statusClass is allowed with ResponseTime, ServiceTime, TimeToFirstByte and Responses only")
		}
	}
	return out
}

// listenerOf checks the listener of a threshold.
func (c *planner) listenerOf(at *field.Path, t *v1alpha1.Threshold) {
	notified := runnerv1alpha1.Metric(t.Metric).OfListeners()
	switch {
	case !notified && t.Listener != "":
		c.fail(at, "listener is allowed with NotificationTime, NotificationErrorRate and counts of notifications only")
	case notified && (t.Target != "" || t.Chain != "" || t.Step != "" || t.Stage != ""):
		c.fail(at, "target, chain, step and stage are not allowed with figures of notifications; use listener")
	case notified && len(c.spec.Listeners) == 0:
		c.fail(at.Child("metric"), "%s needs a listener in spec.listeners, and a step with await", t.Metric)
	case t.Listener != "":
		c.nameOf(at.Child("listener"), "listener", t.Listener, c.listenerNames())
	}
}

// stageOf checks the stage of a threshold.
func (c *planner) stageOf(at *field.Path, t *v1alpha1.Threshold) {
	if t.Window != nil {
		c.fail(at, "at most one of stage and window is allowed")
	}
	if slices.Contains(notOfStages, t.Metric) || isOfTargets(t) {
		c.fail(at, "stage is not allowed with Lag, Retried, Reconnects, ChainsCompleted, ChainsAborted, and the times that only targets have")
	}
	var names []string
	for i := range c.plan.Rates {
		if r := &c.plan.Rates[i]; !r.WarmUp {
			names = append(names, r.Name)
		} else if r.Name == t.Stage {
			c.fail(at.Child("stage"), "stage %s is a warm-up, which has no figures", t.Stage)
			return
		}
	}
	c.nameOf(at.Child("stage"), "stage", t.Stage, names)
}

// nameOf reports a name that does not exist. If targets or chains have errors, some names can be missing from the plan.
func (c *checker) nameOf(at *field.Path, what, name string, names []string) {
	if len(c.errs) == 0 && !slices.Contains(names, name) {
		c.fail(at, "there is no %s %q%s", what, name, didYouMean(name, names))
	}
}

func (c *planner) targetNames() (names []string) {
	for i := range c.plan.Targets {
		names = append(names, c.plan.Targets[i].Name)
	}
	return names
}

func (c *planner) listenerNames() (names []string) {
	for i := range c.plan.Listeners {
		names = append(names, c.plan.Listeners[i].Name)
	}
	return names
}

// loadChains are the names of the chains whose requests are measured.
func (c *planner) loadChains() (names []string) {
	for i := range c.plan.Chains {
		if c.plan.Chains[i].Phase == runnerv1alpha1.PhaseLoad {
			names = append(names, c.plan.Chains[i].Name)
		}
	}
	return names
}

// loadSteps are the names of the steps whose requests are measured, such as app-session/create.
func (c *planner) loadSteps() (names []string) {
	for i := range c.plan.Chains {
		chain := &c.plan.Chains[i]
		for k := range chain.Steps {
			if chain.Phase == runnerv1alpha1.PhaseLoad && chain.Steps[k].Await == nil {
				names = append(names, chain.Name+"/"+chain.Steps[k].Name)
			}
		}
	}
	return names
}

// abort compiles abortOnFail and abortAfter.
func (c *checker) abort(at *field.Path, t *v1alpha1.Threshold, to *runnerv1alpha1.Threshold) {
	switch {
	case !t.AbortOnFail && t.AbortAfter != nil:
		c.fail(at, "abortAfter needs abortOnFail: true")
	case !t.AbortOnFail:
	case t.AbortAfter != nil:
		to.AbortAfter = t.AbortAfter.Duration
	default:
		to.AbortAfter = defaultAbortAfter
	}
	if t.AbortOnFail && to.AtEndOnly() {
		c.fail(at.Child("abortOnFail"),
			"abortOnFail is not allowed with a min of a count over the run or a stage, because the count is known at the end only; set window")
	}
}

func (c *checker) timeLimit(path *field.Path, limit *intstr.IntOrString) {
	_, err := time.ParseDuration(limit.StrVal)
	if limit.Type != intstr.String || err != nil || !timePattern().MatchString(limit.StrVal) {
		c.fail(path, "max and min of a time must be a duration such as 20ms%s", DurationHint(limit.StrVal))
	}
}

func (c *checker) errorLimit(path *field.Path, limit *intstr.IntOrString) {
	if limit.Type != intstr.String || !percentagePattern().MatchString(limit.StrVal) {
		c.fail(path, "max and min of an error rate must be a percentage such as 0.1%%, at most 100%%")
	}
}

func (c *checker) rateLimit(path *field.Path, limit *intstr.IntOrString) {
	if !rateLimitPattern().MatchString(limit.String()) {
		c.fail(path, "max and min of Rate and Observed must be a number such as 1000")
	}
}

func (c *checker) countLimit(path *field.Path, limit *intstr.IntOrString) {
	if text := limit.String(); !countLimitPattern().MatchString(text) && !percentagePattern().MatchString(text) {
		c.fail(path, "max and min of a count must be a number such as 10, a percentage such as 0.1%%, or a rate such as 5/s")
	}
}
