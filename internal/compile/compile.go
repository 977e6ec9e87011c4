package compile

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// deadlineSlack is added to the length of a test whose stages all have a duration: time for the start, the end of the
// drain and a busy machine. A runner that the operator cannot reach stops at the deadline.
const deadlineSlack = time.Minute

const (
	// MaxName is the bound of names, in characters. It leaves space for an index in the host names of pods, which have
	// at most 63.
	MaxName = 50
	// dashName is the pattern of names of LoadTests, targets, templates, chains and steps.
	dashName = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
)

// Compile turns a spec into the plan of the LoadTest called name ("namespace/name"). The plan is
// nil if there is an error. Compile returns all errors together. Warnings are sentences about probable mistakes that
// are not errors; each begins with the field's path. Compile does not change the spec.
func Compile(name string, spec *v1alpha1.LoadTestSpec) (plan *runnerv1alpha1.Plan, warnings []string,
	errs field.ErrorList) {
	return compile(name, spec, nil)
}

// compile is Compile, and notes places if it is not nil.
func compile(name string, spec *v1alpha1.LoadTestSpec, places Places) (plan *runnerv1alpha1.Plan, warnings []string,
	errs field.ErrorList) {
	document, err := generic(reflect.ValueOf(spec))
	if err != nil { // such as a podTemplate that is not JSON, which neither a manifest nor the API server can have
		return nil, nil, field.ErrorList{field.Invalid(specPath, field.OmitValueType{}, "cannot be encoded as JSON")}
	}
	s := &structure{}
	s.value(specPath, specSchema, document)
	plan, warnings, errs = compileChecked(name, spec, s, places)
	return plan, warnings, append(s.errs, errs...)
}

// compileChecked compiles a spec whose structure was checked. It returns a plan only if the structure is right. It does
// not return the errors of the structure, nor any that follow from them.
func compileChecked(name string, given *v1alpha1.LoadTestSpec, s *structure, places Places) (plan *runnerv1alpha1.Plan,
	warnings []string, errs field.ErrorList) {
	spec := complete(given)
	c := &compiler{planner: planner{checker: checker{structure: *s}, spec: spec}, places: places}
	c.plan = &runnerv1alpha1.Plan{
		APIVersion: runnerv1alpha1.APIVersion,
		Kind:       runnerv1alpha1.PlanKind,
		Name:       name,
		Seed:       seedOf(name),
	}
	if spec.Seed != nil {
		c.plan.Seed = uint64(*spec.Seed)
	}
	c.name(name)
	c.runner()
	c.variables()
	c.targets()
	c.listeners()
	c.observe()
	c.templates()
	c.profiles()
	if c.chains() {
		c.rates()
		c.search()
		c.thresholds()
	}
	if len(s.errs)+len(c.errs) > 0 {
		return nil, c.warnings, c.errs
	}
	c.lifetime()
	c.capacity()
	return c.plan, c.warnings, nil
}

// compiler is the state of one call of Compile. Each function that Compile calls fills some fields of plan, and the
// indices with which later ones resolve names.
type compiler struct {
	planner
	// places is nil if the caller needs none.
	places Places

	targetIndex   map[string]int
	variableIndex map[string]int
	templateIndex map[string]int
	listenerIndex map[string]int
	listenerUsed  map[string]bool
	observed      map[int]bool // targets of observations and of OTLP
	// listenerSent has the listeners whose URL a text inserts.
	listenerSent map[string]bool
	captured     map[string]bool // names that some template captures
	requests     []*request      // those of spec.templates in their order, then those of steps
	inline       map[*v1alpha1.Request]*request
	awaits       map[*v1alpha1.Await]*request
	sbi          []profile // by target
	globals      map[string]*global
	variableRead map[string]bool
	usims        usims
	size         sizer
	tables       map[int]*table // by the index of a csv variable
	// judged has what is wrong with the values that are inserted; see judge.
	judged map[insertion]string
	// nameClasses are by the index of a variable; see nameClass.
	nameClasses map[int]string
	// hidden: a script or a file, which only runners see, may read any variable or capture.
	hidden bool
}

// planner has a spec and the plan that is made of it. Its functions resolve no names of variables, templates and
// captures.
type planner struct {
	checker
	spec *v1alpha1.LoadTestSpec // a copy with all defaults applied
	plan *runnerv1alpha1.Plan
}

// checker collects what is wrong with a spec. Its functions compile fields that mean the same whatever the rest of the
// spec is.
type checker struct {
	errs      field.ErrorList
	seen      map[string]bool // lines reported so far: a mistake in a template that two steps use is reported once
	structure structure
	warnings  []string
}

// fail reports a mistake, unless it follows from an error of the structure. The message must not quote values that can
// be secret: it can have names and numbers, but not URLs, header values or bodies.
func (c *checker) fail(path *field.Path, format string, args ...any) {
	if !c.structure.explains(path.String()) {
		c.report(field.ErrorList{field.Invalid(path, field.OmitValueType{}, fmt.Sprintf(format, args...))})
	}
}

// name checks metadata.name, the second half of "namespace/name". The CRD has rules in CEL for it.
func (c *checker) name(full string) {
	_, name, found := strings.Cut(full, "/")
	if !found {
		name = full
	}
	path := field.NewPath("metadata", "name")
	switch {
	case name == "":
		c.fail(path, "is required; or set metadata.generateName to the beginning of a name")
	case utf8.RuneCountInString(name) > MaxName:
		c.fail(path, "must have at most %d characters", MaxName)
	case !matches(dashName, name):
		c.fail(path, "%s", patternMessages[dashName])
	}
}

// unique stores the index of a name, or reports that an earlier entry has the name.
func (c *checker) unique(path *field.Path, index map[string]int, name string, i int) {
	if name == "" {
		return // reported already
	}
	if first, taken := index[name]; taken {
		c.fail(path, "%q is the name of entry %d too", name, first)
		return
	}
	index[name] = i
}

// orNil returns nil for an empty list, as in a plan that was written and read again.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func (c *checker) report(errs field.ErrorList) {
	for _, err := range errs {
		if c.isNew(errorLine(err)) {
			c.errs = append(c.errs, err)
		}
	}
}

func (c *checker) warn(path *field.Path, format string, args ...any) {
	if line := path.String() + ": " + fmt.Sprintf(format, args...); c.isNew("warning: " + line) {
		c.warnings = append(c.warnings, line)
	}
}

// isNew returns whether a line was not reported so far.
func (c *checker) isNew(line string) bool {
	if c.seen[line] {
		return false
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[line] = true
	return true
}

// seedOf returns the default seed: a hash of the name, so that each run of a LoadTest uses the same values.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return h.Sum64()
}
