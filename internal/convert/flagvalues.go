package convert

// FlagValues has the flags of a tool that the user set, with their values. The keys are the names in SetFlag.
type FlagValues struct {
	// Last is the last value of each flag, for flags that have one value.
	Last map[string]string
	// All is all values of each flag, in order, for flags that may be repeated.
	All map[string][]string
}

// FlagValues collects the flags that Flags has parsed. without has the reason for each flag that cannot be
// converted: FlagValues warns about such a flag and omits it.
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

// Has reports that the user set the flag, even to an empty value.
func (v FlagValues) Has(name string) bool { _, has := v.Last[name]; return has }
