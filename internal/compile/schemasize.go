package compile

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"unicode/utf8"
)

// The bounds of an inline schema, which the operator compiles. The library searches the subschemas one by one for each
// reference, keeps the JSON Pointer of each, and keeps each expression as a program.
const (
	maxSchemaValues       = 10_000
	maxSchemaPointers     = 512 << 10
	maxSchemaInstructions = 100_000
)

// schemaSize is what a schema costs to compile.
type schemaSize struct {
	// values are objects, arrays and booleans, which may all be subschemas. pointers has the length of their pointers.
	values, pointers int
	instructions     int
}

// schemaTooLarge says that a schema is too large to compile, or nothing.
func schemaTooLarge(text string) string {
	var document any
	var size schemaSize
	if json.Unmarshal([]byte(text), &document) == nil {
		size.add(0, "", document)
	}
	if !size.exceeded() {
		return ""
	}
	return fmt.Sprintf("is too large to compile; allowed: at most %d objects, arrays and booleans, %d characters of all "+
		"their JSON Pointers together, and regular expressions of at most %d characters each, and together as large "+
		"as a{%d}", maxSchemaValues, maxSchemaPointers, maxExpression, maxSchemaInstructions)
}

func (s *schemaSize) exceeded() bool {
	return s.values > maxSchemaValues || s.pointers > maxSchemaPointers || s.instructions > maxSchemaInstructions
}

// add adds a value and all that is in it. pointer is the length of its JSON Pointer.
func (s *schemaSize) add(pointer int, name string, value any) {
	if s.exceeded() {
		return
	}
	switch v := value.(type) {
	case string:
		if name == "pattern" {
			s.instructions += instructions(v)
		}
	case bool:
		s.addSubschema(pointer)
	case map[string]any:
		s.addSubschema(pointer)
		for key, member := range v {
			if name == "patternProperties" {
				s.instructions += instructions(key)
			}
			s.add(pointer+1+len(key), key, member)
		}
	case []any:
		s.addSubschema(pointer)
		for i, item := range v {
			s.add(pointer+1+len(fmt.Sprint(i)), "", item)
		}
	}
}

// addSubschema counts a value that may be a subschema.
func (s *schemaSize) addSubschema(pointer int) {
	s.values++
	s.pointers += pointer
}

// maxExpression bounds the characters of an expression that instructions parses. A parsed expression is larger: \pL has
// some 600 ranges of characters.
const maxExpression = 10_000

// instructions returns about how many instructions the program of a regular expression has. The program of a{1000} has
// 1000. What is wrong with an expression is reported elsewhere.
func instructions(expression string) int {
	if utf8.RuneCountInString(expression) > maxExpression {
		return maxSchemaInstructions + 1
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	return programSize(parsed)
}

// programSize multiplies what is repeated: the compiler of package regexp copies it.
func programSize(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpRepeat:
		n = 0
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 16 // a class of a few ranges is one instruction, and \pL as large as 80
	}
	for _, sub := range re.Sub {
		n += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
