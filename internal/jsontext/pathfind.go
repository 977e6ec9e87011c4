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
	s := search{doc: doc, root: skipSpace(doc, 0), left: max(pathWork*len(doc), pathWorkMin)}
	h := hits{most: 1, outermost: true}
	if s.visit(s.root, p.segments, &h); h.n == 0 || s.left < 0 {
		return nil, false
	}
	end := skipValue(doc, h.at, h.level)
	return doc[h.at:max(h.at, end):max(h.at, end)], s.isEnd(end, h.level)
}

// search evaluates a path. Nodes are indices where their JSON text begins. What is before the present node is valid,
// because a search goes through the nodes before it in each container around it.
type search struct {
	doc  []byte
	root int
	// level is how many containers are around the present node.
	level int
	// open are the containers around the node that the outermost query visits.
	open nesting
	// left is how many more octets may be read. If it is negative, the result is not known, or the document not valid.
	left int
}

// isEnd returns whether the text after a node is valid. i is the index after the node.
func (s *search) isEnd(i, level int) bool {
	if i, level = s.open.next(s.doc, i, level-1); level >= 0 {
		i = s.open.skip(s.doc, i, level, maxDepth)
	}
	return i >= 0 && skipSpace(s.doc, i) == len(s.doc)
}

// fail ends the search.
func (s *search) fail() { s.left = -1 }

// hits are the nodes that a query has selected. The query ends with the node number most. at is the last one, and level
// how many containers are around it. outermost: the query is not part of a filter.
type hits struct {
	n, most, at, level int
	outermost          bool
}

func (s *search) raw(node int) []byte {
	end := skipValue(s.doc, node, s.level)
	if end < 0 {
		s.fail()
		return nil
	}
	s.left -= end - node
	return s.doc[node:end:end]
}

// children are those of an object or array.
type children struct {
	// closes is the octet that ends the object or array.
	closes byte
	// value is the present child, end is after it.
	value, end int
	// name is that of the present member, as in the document. plain is as in skipString.
	name  []byte
	plain bool
}

// children returns the children of a node, before the first one. A scalar has none.
func (s *search) children(node int) children {
	c := at(s.doc, node)
	if c != '{' && c != '[' {
		return children{end: -1}
	}
	return children{closes: c + 2, value: -1, end: node + 1}
}

// reach goes to the next child, whose end is not known before pass.
func (s *search) reach(c *children) bool {
	if c.end < 0 || s.left < 0 {
		return false
	}
	i := skipSpace(s.doc, c.end)
	b := at(s.doc, i)
	if b == c.closes {
		return false
	}
	if c.value >= 0 {
		if b != ',' {
			s.fail()
			return false
		}
		i = skipSpace(s.doc, i+1)
	}
	if c.closes == '}' {
		end, plain := skipString(s.doc, i)
		value := skipColon(s.doc, end)
		if value < 0 {
			s.fail()
			return false
		}
		c.name, c.plain = s.doc[i+1:end-1], plain
		i = value
	}
	c.value = i
	return true
}

// pass skips the value of the present child.
func (s *search) pass(c *children) {
	if s.left < 0 {
		return
	}
	end := skipValue(s.doc, c.value, s.level+1)
	if end < 0 {
		s.fail()
		return
	}
	s.left -= end - c.end + pathStep
	c.end = end
}

// enter visits a child of a node.
func (s *search) enter(node, child int, segments []segment, h *hits) (enough bool) {
	if s.level == maxDepth {
		s.fail()
		return true
	}
	if h.outermost {
		s.open.open(s.level, s.doc[node] == '{')
	}
	s.level++
	enough = s.visit(child, segments, h)
	s.level--
	return enough
}

// visit finds what segments select from a node. It returns true if that is enough.
func (s *search) visit(node int, segments []segment, h *hits) (enough bool) {
	if len(segments) == 0 {
		h.n++
		h.at, h.level = node, s.level
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
	for c := s.children(node); s.reach(&c); s.pass(&c) {
		if b := at(s.doc, c.value); (b == '{' || b == '[') && s.enter(node, c.value, segments, h) {
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
		return child >= 0 && s.enter(node, child, rest, h)
	case selectIndex:
		child := s.element(node, sel.index)
		return child >= 0 && s.enter(node, child, rest, h)
	case selectSlice:
		return s.slice(node, &sel.slice, rest, h)
	}
	for c := s.children(node); s.reach(&c); s.pass(&c) {
		if (sel.kind == selectWildcard || s.passes(c.value, sel.filter)) && s.enter(node, c.value, rest, h) {
			return true
		}
	}
	return false
}

// member returns the first member of a name, or -1.
func (s *search) member(node int, name string) (child int) {
	if at(s.doc, node) != '{' {
		return -1
	}
	for c := s.children(node); s.reach(&c); s.pass(&c) {
		if sameText(c.name, c.plain, name) {
			return c.value
		}
	}
	return -1
}

// element returns an element of an array, or -1. A negative index counts from the end.
func (s *search) element(node, index int) int {
	if at(s.doc, node) != '[' {
		return -1
	}
	if index < 0 {
		if index += s.size(node); index < 0 {
			return -1
		}
	}
	for c := s.children(node); s.reach(&c); index-- {
		if index == 0 {
			return c.value
		}
		s.pass(&c)
	}
	return -1
}

// size returns the number of children.
func (s *search) size(node int) (n int) {
	for c := s.children(node); s.reach(&c); s.pass(&c) {
		n++
	}
	return n
}

func (s *search) slice(node int, of *slice, rest []segment, h *hits) (enough bool) {
	if at(s.doc, node) != '[' || of.step == 0 {
		return false
	}
	from, to := of.bounds(s.size(node))
	if of.step < 0 {
		for i := from; i > to && s.left >= 0; i += of.step {
			child := s.element(node, i)
			if child < 0 { // the bound is reached
				return false
			}
			if s.enter(node, child, rest, h) {
				return true
			}
		}
		return false
	}
	i := 0
	for c := s.children(node); i < to && s.reach(&c); i++ {
		if i >= from && (i-from)%of.step == 0 && s.enter(node, c.value, rest, h) {
			return true
		}
		s.pass(&c)
	}
	return false
}
