package rules

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/internal/lazy"
)

// pathClass says how specific a path is; lower is more.
type pathClass uint8

const (
	exactPath pathClass = iota // /a/b
	paramPath                  // /a/{x}/b
	subtree                    // /a/{x}/**
	anyPath                    // no path given
)

// pattern is a compiled match.path.
type pattern struct {
	class    pathClass
	exact    string
	segments []segment
	params   []string // in their order
}

type segment struct {
	literal string
	param   bool
}

var paramName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func parsePattern(s string) (pattern, error) {
	if s == "" {
		return pattern{class: anyPath}, nil
	}
	if s[0] != '/' {
		return pattern{}, fmt.Errorf("%q does not begin with /", s)
	}
	if strings.ContainsAny(s, "?#") {
		return pattern{}, errors.New("must not have a query; use match.query")
	}
	p := pattern{class: exactPath, exact: s}
	rest, below := strings.CutSuffix(s, "/**")
	if below {
		p.class = subtree
	}
	for _, part := range strings.Split(rest, "/")[1:] {
		seg, err := parseSegment(part)
		if err != nil {
			return pattern{}, err
		}
		if seg.param {
			for _, known := range p.params {
				if known == seg.literal {
					return pattern{}, fmt.Errorf("{%s} is in it twice", known)
				}
			}
			p.params = append(p.params, seg.literal)
			p.class = max(p.class, paramPath)
		}
		p.segments = append(p.segments, seg)
	}
	return p, nil
}

func parseSegment(part string) (segment, error) {
	if part == "**" || !strings.ContainsAny(part, "{}*") {
		if part == "**" {
			return segment{}, errors.New("** is allowed at the end only")
		}
		return segment{literal: part}, nil
	}
	name, ok := strings.CutPrefix(part, "{")
	name, closed := strings.CutSuffix(name, "}")
	if !ok || !closed || !paramName().MatchString(name) {
		return segment{}, fmt.Errorf("segment %q must be {name}, or must not contain {, } and *", part)
	}
	return segment{literal: name, param: true}, nil
}

// match reports whether path is of the pattern, and appends the values of its parameters. A
// parameter is one segment and not empty.
func (p *pattern) match(path []byte, values [][]byte) ([][]byte, bool) {
	switch p.class {
	case anyPath:
		return values, true
	case exactPath:
		return values, string(path) == p.exact
	}
	for i := range p.segments {
		if len(path) == 0 || path[0] != '/' {
			return values, false
		}
		path = path[1:]
		end := 0
		for end < len(path) && path[end] != '/' {
			end++
		}
		if seg := &p.segments[i]; seg.param {
			if end == 0 {
				return values, false
			}
			values = append(values, path[:end])
		} else if string(path[:end]) != seg.literal {
			return values, false
		}
		path = path[end:]
	}
	return values, len(path) == 0 || p.class == subtree
}

// compare is negative when p is more specific than q: by class, and within one by the first
// segment in which they differ, where a literal comes before a parameter before the end.
func (p *pattern) compare(q *pattern) int {
	if p.class != q.class {
		return cmp.Compare(p.class, q.class)
	}
	for i := range min(len(p.segments), len(q.segments)) {
		if a, b := p.segments[i].param, q.segments[i].param; a != b {
			if b {
				return -1
			}
			return 1
		}
	}
	return cmp.Compare(len(q.segments), len(p.segments))
}
