package curl

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h2surge/h2surge/internal/octet"
)

// Words splits a command line as bash does: with single and double quotes, $'...', backslashes and lines that continue.
// It does not expand variables and commands, which are errors. The line must have one command.
func Words(line string) ([]string, error) {
	if strings.Contains(line, "^\"") || strings.Contains(line, "^\n") || strings.Contains(line, "^\r") {
		return nil, errors.New("the line is for the shell of Windows; use \"copy as cURL (bash)\"")
	}
	s := splitter{rest: strings.TrimSpace(strings.ReplaceAll(line, "\r\n", "\n"))}
	for s.rest != "" {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	s.end()
	return s.words, nil
}

type splitter struct {
	rest   string
	words  []string
	word   strings.Builder
	inWord bool
}

// end ends a word.
func (s *splitter) end() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.inWord = false
}

func (s *splitter) add(text string) {
	s.word.WriteString(text)
	s.inWord = true
}

// next reads a character, or a text in quotes.
func (s *splitter) next() error {
	c := s.rest[0]
	switch {
	case strings.HasPrefix(s.rest, "\\\n"):
		s.rest = s.rest[2:]
	case c == ' ' || c == '\t':
		s.end()
		s.rest = s.rest[1:]
	case strings.IndexByte("\n;&|<>()", c) >= 0:
		return errors.New("the line has more than one command, or a redirection; put a URL with & in quotes")
	case c == '\'':
		return s.single()
	case c == '"':
		s.rest = s.rest[1:]
		return s.double()
	case strings.HasPrefix(s.rest, "$'"):
		s.rest = s.rest[2:]
		return s.ansi()
	case strings.HasPrefix(s.rest, "$\""):
		s.rest = s.rest[1:]
	case expands(s.rest):
		return errExpansion
	case c == '\\' && len(s.rest) > 1:
		s.add(s.rest[1:2])
		s.rest = s.rest[2:]
	default:
		s.add(s.rest[:1])
		s.rest = s.rest[1:]
	}
	return nil
}

var (
	errExpansion = errors.New("the line has a variable or a command of the shell; write its value")
	errOpen      = errors.New("a quotation mark is not closed")
)

// expands reports whether a text begins with a variable or a command of the shell.
func expands(s string) bool {
	return s[0] == '`' || s[0] == '$' && len(s) > 1 && (s[1] == '{' || s[1] == '(' || s[1] == '_' || octet.IsLetter(s[1]))
}

func (s *splitter) single() error {
	text, rest, closed := strings.Cut(s.rest[1:], "'")
	if !closed {
		return errOpen
	}
	s.add(text)
	s.rest = rest
	return nil
}

func (s *splitter) double() error {
	s.inWord = true
	for s.rest != "" {
		switch c := s.rest[0]; {
		case c == '"':
			s.rest = s.rest[1:]
			return nil
		case strings.HasPrefix(s.rest, "\\\n"):
			s.rest = s.rest[2:]
		case c == '\\' && len(s.rest) > 1 && strings.IndexByte("\"\\$`", s.rest[1]) >= 0:
			s.add(s.rest[1:2])
			s.rest = s.rest[2:]
		case expands(s.rest):
			return errExpansion
		default:
			s.add(s.rest[:1])
			s.rest = s.rest[1:]
		}
	}
	return errOpen
}

// escapes of one letter in $'...'.
var escapes = map[byte]string{
	'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': "\\",
	'\'': "'", '"': "\"", '?': "?",
}

// ansi reads a text in $'...' (ANSI C).
func (s *splitter) ansi() error {
	s.inWord = true
	for s.rest != "" {
		c := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case c == '\'':
			return nil
		case c != '\\' || s.rest == "":
			s.add(string([]byte{c}))
		default:
			s.escape()
		}
	}
	return errOpen
}

// escape reads what follows a backslash in $'...'.
func (s *splitter) escape() {
	c := s.rest[0]
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch {
	case escapes[c] != "":
		s.add(escapes[c])
		s.rest = s.rest[1:]
	case digits > 0 && s.code(1, digits, 16, c == 'x'):
	case '0' <= c && c <= '7' && s.code(0, 3, 8, true):
	default:
		s.add("\\")
	}
}

// code reads up to most digits that begin at from, and adds their octet or character. It returns false if there are
// none.
func (s *splitter) code(from, most, base int, isOctet bool) bool {
	n := from
	for n < len(s.rest) && n-from < most && octet.HexDigit(s.rest[n]) < byte(base) {
		n++
	}
	v, err := strconv.ParseUint(s.rest[from:n], base, 32)
	if err != nil {
		return false
	}
	if isOctet {
		s.add(string([]byte{byte(v)}))
	} else {
		s.add(string(utf8.AppendRune(nil, rune(v))))
	}
	s.rest = s.rest[n:]
	return true
}
