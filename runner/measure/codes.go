package measure

// Codes counts status codes from 100 to 999. Counting allocates only for the first code of a class. The zero value is
// empty.
type Codes struct {
	classes [10]*[100]int64
}

// Add counts a status code n times.
func (c *Codes) Add(code int, n int64) { c.class(code / 100)[code%100] += n }

func (c *Codes) class(i int) *[100]int64 {
	if c.classes[i] == nil {
		c.classes[i] = new([100]int64)
	}
	return c.classes[i]
}

// Each calls f for each code that was counted, in ascending order.
func (c *Codes) Each(f func(code int, n int64)) {
	for i, class := range c.classes {
		if class == nil {
			continue
		}
		for k, n := range class {
			if n != 0 {
				f(100*i+k, n)
			}
		}
	}
}

// foldInto adds everything to total and sets the counts to zero.
func (c *Codes) foldInto(total *Codes) {
	c.Each(total.Add)
	for _, class := range c.classes {
		if class != nil {
			clear(class[:])
		}
	}
}
