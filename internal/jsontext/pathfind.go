package jsontext

// pathWork bounds the octets that one evaluation of a path reads: pathWork for each octet of the document, and
// pathWorkMin at least. A path that needs more finds nothing. A descendant segment reads a document about as often as
// its objects and arrays are nested deep.
const (
	pathWork    = 32
	pathWorkMin = 64 << 10
	// pathStep is what a step to a child costs beyond the octets of the child.
	pathStep = 8
)

// Find returns the first value that p selects in doc, as Pointer.Find does. It does not allocate memory, except for
// values with escape sequences, and for comparisons of objects, arrays and fractions.
func (p *Path) Find(dst, doc []byte) (value []byte, ok bool) {
	raw, ok := p.Raw(doc)
	if !ok {
		return nil, false
	}
	return Text(dst, raw), true
}

// Raw returns the JSON text of the first value that p selects, as a part of doc.
func (p *Path) Raw(doc []byte) (raw []byte, ok bool) {
	root := skipSpace(doc, 0)
	if end := skipValue(doc, root, 0); end < 0 || skipSpace(doc, end) != len(doc) {
		return nil, false
	}
	s := search{doc: doc, root: root, left: max(pathWork*len(doc), pathWorkMin)}
	h := hits{most: 1}
	if s.visit(root, p.segments, &h); h.n == 0 || s.left < 0 {
		return nil, false
	}
	return s.raw(h.at), true
}

// search evaluates a path on a valid document. Nodes are indices where their JSON text begins.
type search struct {
	doc  []byte
	root int
	// left is how many more octets may be read. If it is negative, the result is not known.
	left int
}

// hits are the nodes that a query has selected. The query ends with the node number most. at is the last one.
type hits struct{ n, most, at int }

func (s *search) raw(node int) []byte {
	end := skipValue(s.doc, node, 0)
	s.left -= end - node
	return s.doc[node:end:end]
}

// children are those of an object or array.
type children struct {
	object bool
	// value is the present child, end is after it.
	value, end int
	// name is that of the present member, as in the document. plain is as in skipString.
	name  []byte
	plain bool
}

// open returns the children of a node, before the first one. A scalar has none.
func (s *search) open(node int) children {
	c := at(s.doc, node)
	if c != '{' && c != '[' {
		return children{end: -1}
	}
	return children{object: c == '{', value: -1, end: node + 1}
}

// next continues with the next child, and returns false after the last one.
func (s *search) next(c *children) bool {
	if !s.reach(c) {
		return false
	}
	s.pass(c)
	return true
}

// reach goes to the next child, whose end is not known before pass.
func (s *search) reach(c *children) bool {
	if c.end < 0 || s.left < 0 {
		return false
	}
	i := skipSpace(s.doc, c.end)
	switch b := at(s.doc, i); {
	case b == ',':
		i = skipSpace(s.doc, i+1)
	case c.value >= 0 || b == '}' || b == ']':
		return false
	}
	if c.object {
		end, plain := skipString(s.doc, i)
		c.name, c.plain = s.doc[i+1:end-1], plain
		i = skipColon(s.doc, end)
	}
	c.value = i
	return true
}

// pass skips the value of the present child.
func (s *search) pass(c *children) {
	end := skipValue(s.doc, c.value, 0)
	s.left -= end - c.end + pathStep
	c.end = end
}

// visit finds what segments select from a node. It returns true if that is enough.
func (s *search) visit(node int, segments []segment, h *hits) (enough bool) {
	if len(segments) == 0 {
		h.n++
		h.at = node
		return h.n >= h.most
	}
	for i := range segments[0].selectors {
		if s.choose(node, &segments[0].selectors[i], segments[1:], h) {
			return true
		}
	}
	if !segments[0].descends {
		return false
	}
	for c := s.open(node); s.next(&c); {
		if b := s.doc[c.value]; (b == '{' || b == '[') && s.visit(c.value, segments, h) {
			return true
		}
	}
	return false
}

// choose visits the children of a node that a selector selects.
func (s *search) choose(node int, sel *selector, rest []segment, h *hits) (enough bool) {
	switch sel.kind {
	case selectName:
		child := s.member(node, sel.name)
		return child >= 0 && s.visit(child, rest, h)
	case selectIndex:
		child := s.element(node, sel.index)
		return child >= 0 && s.visit(child, rest, h)
	case selectSlice:
		return s.slice(node, &sel.slice, rest, h)
	}
	for c := s.open(node); s.next(&c); {
		if (sel.kind == selectWildcard || s.holds(c.value, sel.filter)) && s.visit(c.value, rest, h) {
			return true
		}
	}
	return false
}

// member returns the first member of a name, or -1.
func (s *search) member(node int, name string) (child int) {
	if s.doc[node] != '{' {
		return -1
	}
	for c := s.open(node); s.reach(&c); s.pass(&c) {
		if sameText(c.name, c.plain, name) {
			return c.value
		}
	}
	return -1
}

// element returns an element of an array, or -1. A negative index counts from the end.
func (s *search) element(node, index int) int {
	if s.doc[node] != '[' {
		return -1
	}
	if index < 0 {
		if index += s.size(node); index < 0 {
			return -1
		}
	}
	for c := s.open(node); s.reach(&c); index-- {
		if index == 0 {
			return c.value
		}
		s.pass(&c)
	}
	return -1
}

// size returns the number of children.
func (s *search) size(node int) (n int) {
	for c := s.open(node); s.next(&c); {
		n++
	}
	return n
}

func (s *search) slice(node int, of *slice, rest []segment, h *hits) (enough bool) {
	if s.doc[node] != '[' || of.step == 0 {
		return false
	}
	from, to := of.bounds(s.size(node))
	if of.step < 0 {
		for i := from; i > to && s.left >= 0; i += of.step {
			child := s.element(node, i)
			if child < 0 { // the bound is reached
				return false
			}
			if s.visit(child, rest, h) {
				return true
			}
		}
		return false
	}
	i := 0
	for c := s.open(node); i < to && s.next(&c); i++ {
		if i >= from && (i-from)%of.step == 0 && s.visit(c.value, rest, h) {
			return true
		}
	}
	return false
}
