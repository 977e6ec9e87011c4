package convert

// FlagValues are what was given of a tool's flags, by their names as SetFlag has them.
type FlagValues struct {
	// Last of each flag, which counts where it is given twice.
	Last map[string]string
	// All of each, in order, for those that may be repeated.
	All map[string][]string
}

// FlagValues takes what Flags read. without are the flags that nothing becomes of, and why: these
// are told of and left out.
func (d *Draft) FlagValues(given []SetFlag, without map[string]string) FlagValues {
	v := FlagValues{Last: map[string]string{}, All: map[string][]string{}}
	for _, g := range given {
		if why := without[g.Name]; why != "" {
			d.Warn(g.Name, "has no counterpart and is left out: %s", why)
			continue
		}
		v.Last[g.Name] = g.Value
		v.All[g.Name] = append(v.All[g.Name], g.Value)
	}
	return v
}

// Has is true when the flag was given, even with an empty value.
func (v FlagValues) Has(name string) bool { _, has := v.Last[name]; return has }
