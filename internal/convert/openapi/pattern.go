package openapi

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPatternText bounds what is made of a pattern.
const maxPatternText = 4096

// matching makes a short text that a regular expression matches; empty: none was found.
func matching(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	write(&b, re)
	whole, err := regexp.Compile(pattern)
	if err != nil || b.Len() > maxPatternText || !whole.MatchString(b.String()) {
		return ""
	}
	return b.String()
}

func write(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > maxPatternText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(ofClass(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub)
		}
	case syntax.OpPlus:
		write(b, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			write(b, re.Sub[0])
		}
	case syntax.OpAlternate:
		write(b, re.Sub[0])
	}
}

// ofClass is a member of a class, given as pairs of bounds: an ordinary one if there is one.
func ofClass(ranges []rune) rune {
	for _, r := range "0aA1b-_" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}
