package convert

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// inline moves each template that exactly one step names into that step. Templates that several steps share,
// that a parallel group names or that another request extends stay.
func (d *Draft) inline() {
	spec := d.Spec()
	users := d.users()
	moved := map[string]string{} // paths, from and to
	var kept []v1alpha1.Template
	for i := range spec.Templates {
		t := &spec.Templates[i]
		old := fmt.Sprintf("spec.templates[%d]", i)
		use := users[t.Name]
		if use.count != 1 || use.step == nil {
			moved[old] = fmt.Sprintf("spec.templates[%d]", len(kept))
			kept = append(kept, *t)
			continue
		}
		moved[old] = use.at + ".request"
		use.step.Request, use.step.Template = t.Request.DeepCopy(), ""
		use.step.Name = cmp.Or(use.step.Name, t.Name)
	}
	spec.Templates = kept
	d.move(moved)
}

// use is how often a template is named. step is the last step that names it, outside of parallel groups.
type use struct {
	count int
	step  *v1alpha1.Step
	at    string
}

func (d *Draft) users() map[string]use {
	out := map[string]use{}
	add := func(name string, step *v1alpha1.Step, at string) {
		out[name] = use{out[name].count + 1, step, at}
	}
	spec := d.Spec()
	for i := range spec.Templates {
		add(spec.Templates[i].Extends, nil, "")
	}
	for i := range spec.Chains {
		for j := range spec.Chains[i].Steps {
			step := &spec.Chains[i].Steps[j]
			add(step.Template, step, fmt.Sprintf("spec.chains[%d].steps[%d]", i, j))
			for _, p := range step.Parallel {
				add(p.Template, nil, "")
			}
		}
	}
	return out
}

// move changes the paths of notes and origins.
func (d *Draft) move(moved map[string]string) {
	to := func(path string) string {
		end := strings.IndexByte(path, ']') + 1
		if at, found := moved[path[:end]]; found {
			return at + path[end:]
		}
		return path
	}
	for i := range d.notes {
		d.notes[i].at = to(d.notes[i].at)
	}
	origins := make(map[string]string, len(d.origins))
	for at, from := range d.origins {
		origins[to(at)] = from
	}
	d.origins = origins
}
