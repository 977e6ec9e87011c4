package jsontext

// Find returns the value that p refers to in doc: the characters of a string, and the JSON text of any other value.
// ok is false if doc is not valid JSON or has no such value; null is a value. The result is as in Text.
func (p *Pointer) Find(dst, doc []byte) (value []byte, ok bool) {
	raw, ok := p.Raw(doc)
	if !ok {
		return nil, false
	}
	return Text(dst, raw), true
}

// Raw returns the JSON text of the value that p refers to, as a part of doc. ok is as for Find.
func (p *Pointer) Raw(doc []byte) (raw []byte, ok bool) {
	w := walk{doc: doc, tokens: p.tokens}
	i := w.value(skipSpace(doc, 0), 0)
	if i < 0 || skipSpace(doc, i) != len(doc) || w.end == 0 {
		return nil, false
	}
	return doc[w.start:w.end:w.end], true
}

// walk follows the tokens through a document. Its methods take the index where something begins. They return the index
// after it, or -1 if the text is not valid JSON.
type walk struct {
	doc    []byte
	tokens []token
	// start and end of the value that was found; until then, end is 0.
	start, end int
	// recent has the indices where the last elements of an array begin: element k in entry k%len(recent).
	recent [8]int
}

// value walks through the value at i, which the first depth tokens refer to.
func (w *walk) value(i, depth int) int {
	if depth == len(w.tokens) {
		end := skipValue(w.doc, i, depth)
		w.start, w.end = i, end
		return end
	}
	switch c := at(w.doc, i); {
	case c != '{' && c != '[':
		return skipScalar(w.doc, i)
	case depth == maxDepth:
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
			w.end = 0 // forget the value in an earlier member of this name
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

// elements walks through an array. The first depth+1 tokens refer to its n-th element, or to none if n is negative.
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
