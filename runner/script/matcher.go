package script

import (
	"errors"
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// matcher finds Lua patterns (reference manual of Lua 5.1, section 5.4.1). The matcher of the interpreter compiles a
// pattern at each call, and its backtracking cannot be bounded. This one allocates nothing and counts its steps.
type matcher struct {
	src, pat string
	// steps counts down. Below 0 the match fails with an error.
	steps    int64
	depth    int
	captures [maxCaptures]capture
	n        int
	err      error
}

type capture struct{ start, length int }

const (
	maxCaptures  = 32
	maxMatches   = 200 // recursion of one match
	openCapture  = -1
	placeCapture = -2
)

const captureIndex = "invalid capture index"

// find returns the first match of pat in src from byte init on. start is -1 if there is no match.
func (m *matcher) find(src, pat string, init int, steps int64) (start, end int) {
	m.src, m.pat, m.steps, m.err = src, pat, steps, nil
	p, anchored := 0, false
	if strings.HasPrefix(pat, "^") {
		p, anchored = 1, true
	}
	prefix := literal(pat[p:])
	for s := init; s <= len(src); s++ {
		if prefix != "" && !anchored {
			skip := strings.Index(src[s:], prefix)
			if skip < 0 {
				m.steps -= int64(len(src)-s) / 16
				break
			}
			m.steps -= int64(skip) / 16
			s += skip
		}
		m.n, m.depth = 0, 0
		if e := m.match(s, p); e >= 0 || m.err != nil {
			return s, e
		}
		if anchored {
			break
		}
	}
	return -1, -1
}

// literal returns the text that each match of a pattern begins with.
func literal(pat string) string {
	n := strings.IndexAny(pat, specials)
	if n < 0 {
		return pat
	}
	if n > 0 && strings.IndexByte("*?-", pat[n]) >= 0 {
		n--
	}
	return pat[:n]
}

func (m *matcher) fail(why string) int {
	if m.err == nil {
		m.err = errors.New(why)
	}
	return -1
}

// match matches the pattern from p on at s. It returns the end of the match, or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxMatches {
		return m.fail("pattern too complex")
	}
	for s >= 0 && p < len(m.pat) {
		if m.steps--; m.steps < 0 {
			return m.fail("the pattern needs too many steps")
		}
		s, p = m.item(s, p)
	}
	m.depth--
	return s
}

// item matches one item of a pattern, or all if it needs recursion. It returns where the match continues.
func (m *matcher) item(s, p int) (int, int) {
	all := len(m.pat)
	switch c := m.pat[p]; {
	case c == '(':
		return m.open(s, p), all
	case c == ')':
		return m.close(s, p+1), all
	case c == '$' && p+1 == all:
		if s < len(m.src) {
			return -1, all
		}
		return s, all
	case c == '%' && p+1 < all:
		switch n := m.pat[p+1]; {
		case n == 'b':
			return m.balance(s, p+2)
		case n == 'f':
			return m.frontier(s, p+2)
		case '0' <= n && n <= '9':
			return m.again(s, int(n-'1')), p + 2
		}
	}
	return m.single(s, p)
}

func (m *matcher) open(s, p int) int {
	if m.n == maxCaptures {
		return m.fail("too many captures")
	}
	kind := openCapture
	p++
	if p < len(m.pat) && m.pat[p] == ')' {
		kind = placeCapture
		p++
	}
	m.captures[m.n] = capture{s, kind}
	m.n++
	e := m.match(s, p)
	if e < 0 {
		m.n--
	}
	return e
}

func (m *matcher) close(s, p int) int {
	for i := m.n - 1; i >= 0; i-- {
		if m.captures[i].length != openCapture {
			continue
		}
		m.captures[i].length = s - m.captures[i].start
		e := m.match(s, p)
		if e < 0 {
			m.captures[i].length = openCapture
		}
		return e
	}
	return m.fail("invalid pattern capture")
}

// balance is %bxy.
func (m *matcher) balance(s, p int) (int, int) {
	if p+1 >= len(m.pat) {
		return m.fail("unbalanced pattern"), p
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1, p
	}
	level, e := 1, s+1
	for ; e < len(m.src) && level > 0; e++ {
		switch m.src[e] {
		case m.pat[p+1]:
			level--
		case m.pat[p]:
			level++
		}
	}
	m.steps -= int64(e - s)
	if level > 0 {
		return -1, p
	}
	return e, p + 2
}

// frontier is %f[set].
func (m *matcher) frontier(s, p int) (int, int) {
	if p >= len(m.pat) || m.pat[p] != '[' {
		return m.fail("missing '[' after '%f' in pattern"), p
	}
	end := m.classEnd(p)
	if end < 0 || m.inSet(m.at(s-1), p, end-1) || !m.inSet(m.at(s), p, end-1) {
		return -1, p
	}
	return s, end
}

// at returns the octet at s, 0 outside of the text.
func (m *matcher) at(s int) byte {
	if s < 0 || s >= len(m.src) {
		return 0
	}
	return m.src[s]
}

// again is %1 to %9: the text of capture i.
func (m *matcher) again(s, i int) int {
	if i < 0 || i >= m.n || m.captures[i].length == openCapture {
		return m.fail(captureIndex)
	}
	c := m.captures[i]
	want := m.src[c.start : c.start+max(c.length, 0)]
	m.steps -= int64(len(want)) / 16
	if !strings.HasPrefix(m.src[s:], want) {
		return -1
	}
	return s + len(want)
}

// single is a class of one character and its repetition.
func (m *matcher) single(s, p int) (int, int) {
	end := m.classEnd(p)
	if end < 0 {
		return -1, p
	}
	if end < len(m.pat) {
		switch repeat := m.pat[end]; repeat {
		case '?', '+', '*':
			return m.longest(s, p, end, repeat), len(m.pat)
		case '-':
			return m.shortest(s, p, end), len(m.pat)
		}
	}
	if !m.one(s, p, end) {
		return -1, p
	}
	return s + 1, end
}

// longest tries the most repetitions first.
func (m *matcher) longest(s, p, end int, repeat byte) int {
	least, most, e := s, len(m.src), s
	switch repeat {
	case '+':
		least++
	case '?':
		most = min(s+1, most)
	}
	for e < most && m.one(e, p, end) {
		e++
	}
	m.steps -= int64(e - s)
	for ; e >= least && m.err == nil; e-- {
		if r := m.match(e, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

func (m *matcher) shortest(s, p, end int) int {
	for ; m.err == nil; s++ {
		if e := m.match(s, end+1); e >= 0 {
			return e
		}
		if !m.one(s, p, end) {
			break
		}
	}
	return -1
}

// classEnd returns the end of the class that begins at p.
func (m *matcher) classEnd(p int) int {
	c := m.pat[p]
	p++
	switch c {
	case '%':
		if p == len(m.pat) {
			return m.fail("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(m.pat) && m.pat[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pat) || m.pat[p] != ']'; first = false {
			if p >= len(m.pat) {
				return m.fail("malformed pattern (missing ']')")
			}
			if m.pat[p] == '%' {
				p++
			}
			p++
		}
		return p + 1
	}
	return p
}

// one reports whether the byte at s is in the class from p to end.
func (m *matcher) one(s, p, end int) bool {
	if s >= len(m.src) {
		return false
	}
	c := m.src[s]
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pat[p+1])
	case '[':
		m.steps -= int64(end-p) / 8
		return m.inSet(c, p, end-1)
	}
	return m.pat[p] == c
}

// inSet reports whether c is in the [set] at p. last is the position of its "]".
func (m *matcher) inSet(c byte, p, last int) bool {
	in := true
	p++
	if m.pat[p] == '^' {
		in = false
		p++
	}
	for ; p < last; p++ {
		switch {
		case m.pat[p] == '%':
			p++
			if inClass(c, m.pat[p]) {
				return in
			}
		case p+2 < last && m.pat[p+1] == '-':
			if m.pat[p] <= c && c <= m.pat[p+2] {
				return in
			}
			p += 2
		case m.pat[p] == c:
			return in
		}
	}
	return !in
}

// classes are the sets of %a to %z, as the first and last octets of ranges. A class in upper case is the complement.
var classes = func() (t [256]*[256]bool) {
	for class, ranges := range map[byte]string{
		'a': "AZaz", 'c': "\x00\x1f\x7f\x7f", 'd': "09", 'l': "az", 'p': "!/:@[`{~", 's': "\t\r  ", 'u': "AZ", 'w': "09AZaz",
		'x': "09AFaf", 'z': "\x00\x00",
	} {
		in, out := new([256]bool), new([256]bool)
		for c := range in {
			for r := ranges; r != "" && !in[c]; r = r[2:] {
				in[c] = int(r[0]) <= c && c <= int(r[1])
			}
			out[c] = !in[c]
		}
		t[class], t[octet.Upper(class)] = in, out
	}
	return t
}()

func inClass(c, class byte) bool {
	if set := classes[class]; set != nil {
		return set[c]
	}
	return c == class
}

// plain reports whether a pattern has no special character.
func plain(pat string) bool { return !strings.ContainsAny(pat, specials) }

const specials = "^$*+?.()[%-"

// captured returns capture i: a string, or a position > 0. Without captures, capture 0 is the whole match.
func (m *matcher) captured(i, start, end int) (s string, place int, err error) {
	switch {
	case i == 0 && m.n == 0:
		return m.src[start:end], 0, nil
	case i >= m.n:
		return "", 0, errors.New(captureIndex)
	}
	switch c := m.captures[i]; c.length {
	case openCapture:
		return "", 0, errors.New("unfinished capture")
	case placeCapture:
		return "", c.start + 1, nil
	default:
		return m.src[c.start : c.start+c.length], 0, nil
	}
}
