package cli

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/lazy"
	"github.com/h2surge/h2surge/runner/chain"
)

// programLint builds a plan's program, as runners do before they connect. The builder stops at its
// first fault, so that after one the parts of the plan are built one at a time, each with stand-ins
// for what it does not need.
type programLint struct {
	*linter
	spec *v1alpha1.LoadTestSpec
	plan *rv.Plan
	// dir is where the manifest's files are, which messages do not name.
	dir string
	// unset: a variable of the environment is not set here.
	unset bool
}

// program checks what only the content of files shows.
func (l *linter) program(spec *v1alpha1.LoadTestSpec, plan *rv.Plan, files []compile.File) error {
	dir, err := os.MkdirTemp("", "h2surge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what cannot be removed is readable by its owner only
	for _, f := range files {
		if err := writeBelow(dir, f); err != nil {
			return err
		}
	}
	placed, err := moved(plan, dir)
	if err != nil {
		return err
	}
	p := &programLint{linter: l, spec: spec, plan: placed, dir: dir}
	p.environment()
	p.errors(certificateErrors(p.plan))
	p.uris()
	whole := p.load(p.plan)
	if whole == nil {
		return nil
	}
	before := len(l.found)
	unknown := p.variables()
	p.targets()
	p.steps()
	if len(l.found) == before && !unknown && !errors.Is(whole, fs.ErrNotExist) {
		p.fail("spec", whole.Error())
	}
	return nil
}

func (p *programLint) load(plan *rv.Plan) error {
	_, err := chain.Load(plan, chain.Resources{Env: os.LookupEnv, ReadFile: os.ReadFile})
	return err
}

func (p *programLint) fail(path, detail string) {
	detail = strings.ReplaceAll(detail, p.dir+string(os.PathSeparator), "")
	p.errors(field.ErrorList{{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: detail}})
}

// environment gives variables a value that the runner's environment will have.
func (p *programLint) environment() {
	for i := range p.plan.Variables {
		e := p.plan.Variables[i].Env
		if e == nil || e.Default != nil {
			continue
		}
		if _, set := os.LookupEnv(e.Name); set {
			continue
		}
		p.unset = true
		standIn := "unset"
		e.Default = &standIn
		p.warnings(field.ErrorList{field.Invalid(field.NewPath("spec", "variables").Index(i).Child("env"), field.OmitValueType{},
			e.Name+" is not set here and has no default; runners need it, by runner.podTemplate for instance")})
	}
}

// variables puts a stand-in in the place of each variable, and says whether the content of one of them
// is not known.
func (p *programLint) variables() (unknown bool) {
	for i := range p.plan.Variables {
		v := &p.plan.Variables[i]
		err := p.load(p.only(rv.Chain{Steps: []rv.Step{get}}, *v))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			unknown = true
		case err != nil:
			_, detail, _ := strings.Cut(err.Error(), "): ")
			p.failBelow(field.NewPath("spec", "variables").Index(i).String(), detail)
		}
		p.standIn(v, err == nil)
	}
	return unknown
}

// get is a step without faults.
var get = rv.Step{Name: "get", Method: "GET", Path: rv.Text{{Literal: "/"}}, Timeout: 1}

// only is a plan with a chain and variables of its own.
func (p *programLint) only(c rv.Chain, variables ...rv.Variable) *rv.Plan {
	c.Phase, c.Weight, c.Publish = rv.PhaseLoad, 1, nil
	return &rv.Plan{
		Targets:   []rv.Target{{Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "a", Address: "a:80"}}}},
		Variables: variables, Chains: []rv.Chain{c}, Rates: p.plan.Rates,
	}
}

// targets fails only where a URL is made of what is constant on a runner.
func (p *programLint) targets() {
	for i := range p.plan.Targets {
		one := p.only(rv.Chain{Steps: []rv.Step{get}}, p.plan.Variables...)
		one.Targets = []rv.Target{p.plan.Targets[i]}
		if err := p.load(one); err != nil && !p.unset && !errors.Is(err, fs.ErrNotExist) {
			_, detail, _ := strings.Cut(err.Error(), ".url: ")
			p.fail(field.NewPath("spec", "targets").Index(i).Child("url").String(), detail)
		}
	}
}

func (p *programLint) steps() {
	for i := range p.plan.Chains {
		c := p.plan.Chains[i]
		requests := stepRequests(p.spec, i)
		for j, s := range c.Steps {
			s.Target, s.Group = 0, 0
			c.Target, c.Steps = 0, []rv.Step{s}
			if s.Await != nil {
				c.Steps = []rv.Step{get, s} // it cannot be the first step
			}
			one := p.only(c, p.plan.Variables...)
			one.Globals, one.Listeners = p.plan.Globals, p.plan.Listeners
			err := p.load(one)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			detail, _ := strings.CutPrefix(err.Error(), fmt.Sprintf("chains[0].steps[%d].", len(c.Steps)-1))
			place, detail := cutPlace(detail)
			p.fail(fieldOf(p.spec, requests[j], place, &s), detail)
		}
	}
}

// placeInPlan matches the start of errors from the program's builder.
var placeInPlan = lazy.Regexp(`^([A-Za-z]+(?:\.[A-Za-z]+|\[\d+\])*)(?:, a \w+)?(?:: )(?s:(.*))$`)

func cutPlace(s string) (place, detail string) {
	m := placeInPlan().FindStringSubmatch(s)
	if m == nil {
		return "", s
	}
	return m[1], m[2]
}

// failBelow is for errors that begin with the place below a path; what it is called in a plan is dropped.
func (p *programLint) failBelow(path, detail string) {
	place, detail := cutPlace(detail)
	if place = strings.TrimSuffix(place, ".content"); place != "" {
		path += "." + place
	}
	p.fail(path, detail)
}

// standIn keeps of a variable what steps can see of it: its name, how often it is drawn, its columns.
func (p *programLint) standIn(v *rv.Variable, sound bool) {
	if s := v.Subscribers; s != nil {
		if s.AKA != nil {
			zeros := rv.Content{Text: strings.Repeat("0", 32)}
			s.AKA = &rv.AKA{K: zeros, OPc: &zeros}
		}
		return
	}
	if v.CSV == nil {
		if !sound {
			*v = rv.Variable{Name: v.Name, Constant: &rv.Content{Text: "x"}}
		}
		return
	}
	columns := v.CSV.Columns
	if names := firstRow(v.CSV); sound && len(columns) == 0 && len(names) > 0 {
		v.CSV = &rv.CSV{Content: rv.Content{Text: rowOf(names) + rowOf(make([]string, len(names)))}}
		return
	}
	if len(columns) == 0 { // whatever is asked for is there
		columns = p.columnsRead(v)
	}
	v.CSV = &rv.CSV{Columns: columns, Content: rv.Content{Text: rowOf(make([]string, len(columns)))}}
}

// rowOf is a row of CSV, in which fields that are empty are x.
func rowOf(fields []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for i := range fields {
		fields[i] = cmp.Or(fields[i], "x")
	}
	_ = w.Write(fields) // it has a comma, and the builder takes everything
	w.Flush()
	return b.String()
}
