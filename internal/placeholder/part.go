package placeholder

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// Part returns the part of a plan that the placeholder is. The parameter named tells what its name and those of
// arguments mean, without functions; ok false: a name means nothing.
func (r *Reference) Part(named func(*Reference) (part rv.Part, ok bool)) (part rv.Part, ok bool) {
	if part, ok = named(r); !ok {
		return part, false
	}
	for i := range r.Functions {
		f, ok := r.Functions[i].part(named)
		if !ok {
			return part, false
		}
		part.Functions = append(part.Functions, f)
	}
	return part, true
}

func (f *Function) part(named func(*Reference) (part rv.Part, ok bool)) (out rv.Function, ok bool) {
	out = rv.Function{Name: f.Name, Width: f.Width, Fill: f.Fill}
	if f.Key != nil {
		key, ok := named(f.Key)
		if !ok {
			return out, false
		}
		out.Key = &key
	}
	for _, argument := range f.Arguments {
		part, ok := named(argument)
		if !ok {
			return out, false
		}
		out.Arguments = append(out.Arguments, part)
	}
	return out, true
}
