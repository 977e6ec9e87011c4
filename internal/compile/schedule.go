package compile

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/crontab"
)

const (
	scheduleKind = "LoadTestSchedule"
	// templateOfSchedule is what stands before "spec" in the path of a field of the LoadTest of a schedule.
	templateOfSchedule = "spec.template."
	// maxScheduleName leaves space for the time in the names of LoadTests.
	maxScheduleName = 41
	schedulePattern = `^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[^ @]+( +[^ @]+){4})$`
)

// schedule reads a LoadTestSchedule. Its template is checked as a LoadTest of the same name.
func (l *loader) schedule(content map[string]any) {
	t := &test{loadTest: &v1alpha1.LoadTest{}, under: templateOfSchedule, document: l.document, item: l.item,
		structure: &structure{}}
	l.tests, l.positions.loadTest, l.positions.item = append(l.tests, t), l.document, l.item
	before := len(l.errs)
	outer := &structure{}
	outer.value(nil, &scheduleSchema, content)
	l.errs = append(l.errs, outer.errs...)
	metadata, _ := content["metadata"].(map[string]any)
	if name, _ := metadata["name"].(string); len(name) > maxScheduleName {
		l.failf("metadata.name", "must have at most %d characters", maxScheduleName)
	}
	spec, _ := content["spec"].(map[string]any)
	l.times(spec)
	template, _ := spec["template"].(map[string]any)
	if inner, is := template["spec"].(map[string]any); is {
		t.structure.value(field.NewPath("spec"), specSchema, inner)
		l.errs = append(l.errs, Below(t.under, t.structure.errs)...)
		of := map[string]any{"metadata": metadata, "spec": inner}
		t.compiles = l.decode(of, t.loadTest) && t.structure.hasNames()
	}
	orElse(&t.loadTest.Namespace, defaultNamespace)
	l.own(t, before)
}

// times checks the scheduled times of a LoadTestSchedule, as the API server and the operator do.
func (l *loader) times(spec map[string]any) {
	zone, _ := spec["timeZone"].(string)
	location, err := crontab.Location(zone)
	if err != nil {
		l.failf("spec.timeZone", "%v", err)
		location = time.UTC
	}
	times, _ := spec["schedule"].(string)
	switch {
	case times == "":
	case strings.Contains(times, "TZ"):
		l.failf("spec.schedule", "must not contain TZ; use timeZone")
	case !matches(schedulePattern, times):
		l.failf("spec.schedule", "must have five fields (minute, hour, day of the month, month, day of the week), "+
			"or be @hourly, @daily, @weekly, @monthly or @yearly")
	default:
		if _, err := crontab.Parse(times, location, time.Now()); err != nil {
			l.failf("spec.schedule", "%v", err)
		}
	}
}
