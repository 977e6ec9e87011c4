package measure

// Names counts by name. Counting allocates only for a name that is new. The zero value is empty.
type Names struct {
	counts map[string]*int64
}

// Add counts a number under a name.
func (n *Names) Add(name string, by int64) {
	if c, ok := n.counts[name]; ok {
		*c += by
		return
	}
	if n.counts == nil {
		n.counts = map[string]*int64{}
	}
	c := new(int64)
	*c = by
	n.counts[name] = c
}

// AddBytes counts one by the name, or by otherwise when the name is new and there are limit names
// already.
func (n *Names) AddBytes(name []byte, limit int, otherwise string) {
	if c, ok := n.counts[string(name)]; ok {
		*c++
		return
	}
	if len(n.counts) >= limit {
		n.Add(otherwise, 1)
		return
	}
	n.Add(string(name), 1)
}

// Counts returns what is above zero, or nil.
func (n *Names) Counts() map[string]int64 {
	var out map[string]int64
	for name, c := range n.counts {
		if *c == 0 {
			continue
		}
		if out == nil {
			out = map[string]int64{}
		}
		out[name] = *c
	}
	return out
}

// foldInto adds everything to total and sets the counts to zero; the names stay.
func (n *Names) foldInto(total *Names) { n.foldBounded(total, len(total.counts)+len(n.counts), "") }

// foldBounded is foldInto; names that are new to a total with limit names are counted as otherwise.
func (n *Names) foldBounded(total *Names, limit int, otherwise string) {
	for name, c := range n.counts {
		if *c == 0 {
			continue
		}
		if _, known := total.counts[name]; !known && len(total.counts) >= limit {
			total.Add(otherwise, *c)
		} else {
			total.Add(name, *c)
		}
		*c = 0
	}
}
