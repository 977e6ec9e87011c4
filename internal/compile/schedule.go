package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
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
	if times, is := spec["schedule"].(string); is && times != "" && !matches(schedulePattern, times) {
		l.failf("spec.schedule", "must have five fields (minute, hour, day of the month, month, day of the week), or be @hourly, @daily, @weekly, @monthly or @yearly")
	}
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
