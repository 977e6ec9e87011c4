package jsonpointer

// Find returns the value that p names in doc: of a string its characters, of anything else its JSON text
// as it stands there. ok is false when doc is not valid JSON or has no such value; null is a value.
//
// The value is a part of doc, or, of a string with escapes or octets that are not UTF-8, is appended to
// dst: then it is what follows dst's length. It is valid as long as that memory is unchanged.
func (p *Pointer) Find(dst, doc []byte) (value []byte, ok bool) {
	raw, ok := p.Raw(doc)
	if !ok {
		return nil, false
	}
	return Text(dst, raw), true
}

// Raw returns the JSON text of the value that p names in doc, which it is a part of. ok is as for Find.
func (p *Pointer) Raw(doc []byte) (raw []byte, ok bool) {
	w := walk{doc: doc, tokens: p.tokens}
	i := w.value(skipSpace(doc, 0), 0)
	if i < 0 || skipSpace(doc, i) != len(doc) || w.end == 0 {
		return nil, false
	}
	return doc[w.start:w.end:w.end], true
}

// walk follows the tokens through a document. Its methods take the place where something begins, and
// return the place after it, or -1 when it is not valid.
type walk struct {
	doc    []byte
	tokens []token
	// start and end of the value that was found; end is 0 before.
	start, end int
	// recent has where the last elements of an array begin: element k in entry k modulo their number.
	recent [8]int
}

// value goes through the value at i, which the first depth tokens name.
func (w *walk) value(i, depth int) int {
	if depth == len(w.tokens) {
		end := skipValue(w.doc, i, depth)
		w.start, w.end = i, end
		return end
	}
	switch c := at(w.doc, i); {
	case c != '{' && c != '[':
		return skipScalar(w.doc, i)
	case depth == MaxDepth:
		return -1
	case c == '{':
		return w.object(i, depth)
	default:
		return w.array(i, depth)
	}
}

func (w *walk) object(i, depth int) int {
	i = skipSpace(w.doc, i+1)
	if at(w.doc, i) == '}' {
		return i + 1
	}
	for {
		end, plain := skipString(w.doc, i)
		value := skipColon(w.doc, end)
		if value < 0 {
			return -1
		}
		if sameText(w.doc[i+1:end-1], plain, w.tokens[depth].name) {
			w.end = 0 // a value in an earlier member of this name
			i = w.value(value, depth+1)
		} else {
			i = skipValue(w.doc, value, depth+1)
		}
		if i < 0 {
			return -1
		}
		i = skipSpace(w.doc, i)
		switch at(w.doc, i) {
		case ',':
			i = skipSpace(w.doc, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

func (w *walk) array(i, depth int) int {
	n := w.tokens[depth].index
	if n >= 0 {
		end, _ := w.elements(i, depth, n)
		return end
	}
	end, count := w.elements(i, depth, -1)
	if end < 0 || n < -count {
		return end
	}
	if n += count; n >= count-len(w.recent) {
		w.value(w.recent[n%len(w.recent)], depth+1)
	} else {
		w.elements(i, depth, n)
	}
	return end
}

// elements goes through an array whose n-th element the first depth+1 tokens name, none if n is negative.
func (w *walk) elements(i, depth, n int) (end, count int) {
	i = skipSpace(w.doc, i+1)
	if at(w.doc, i) == ']' {
		return i + 1, 0
	}
	for ; ; count++ {
		if count == n {
			i = w.value(i, depth+1)
		} else {
			w.recent[count%len(w.recent)] = i
			i = skipValue(w.doc, i, depth+1)
		}
		if i < 0 {
			return -1, 0
		}
		i = skipSpace(w.doc, i)
		switch at(w.doc, i) {
		case ',':
			i = skipSpace(w.doc, i+1)
		case ']':
			return i + 1, count + 1
		default:
			return -1, 0
		}
	}
}
