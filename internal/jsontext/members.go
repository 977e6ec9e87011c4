package jsontext

import "math"

// Members finds several members of the object doc in one pass over the text. It sets values to the JSON text of the
// members with the names, which are as many; a missing member has nil. As for pointers, the last of several members of
// a name counts, and ok is false if doc is not valid JSON. It is also false if doc is not an object.
func Members(values [][]byte, doc []byte, names []string) (ok bool) {
	clear(values)
	s := search{doc: doc, left: math.MaxInt}
	c := s.children(skipSpace(doc, 0))
	if c.closes != '}' {
		return false
	}
	for s.reach(&c) {
		value, name, plain := c.value, c.name, c.plain
		if s.pass(&c); s.left < 0 {
			return false
		}
		for i := range names {
			if sameText(name, plain, names[i]) {
				values[i] = doc[value:c.end:c.end]
			}
		}
	}
	return s.left >= 0 && skipSpace(doc, skipSpace(doc, c.end)+1) == len(doc)
}
