package compile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"testing/iotest"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/internal/lazy"
)

// Positions has the lines of the fields of a manifest. The first line is 1; 0 means that the line is not known.
type Positions struct {
	documents []*document
	loadTest  int // number of its document; 0: the manifest does not have one
	// item is the path of the LoadTest in its document if the document is a List, such as items[0].
	item string
	// lines are the lines of errors that do not follow from a field, such as syntax errors.
	lines map[*field.Error]int
}

// document is a document of a manifest. It is parsed when the first line is needed.
type document struct {
	source []byte
	line   int // of its first byte
	json   bool
	parsed bool
	root   *yaml.Node // nil: it cannot be parsed
	// keys are those of the mappings in which a field was looked up.
	keys map[*yaml.Node]map[string]entry
}

func (p *Positions) add(source []byte, line int, json bool) {
	p.documents = append(p.documents, &document{source: source, line: line, json: json})
}

// Place returns the beginning of a message about a line of a file.
func Place(file string, line int) string {
	if line == 0 {
		return file + ": "
	}
	return fmt.Sprintf("%s:%d: ", file, line)
}

// OfError returns the line of an error.
func (p *Positions) OfError(err *field.Error) int {
	if line := p.lines[err]; line > 0 {
		return line
	}
	return p.Line(err.Field)
}

var (
	documentPath  = lazy.Regexp(`^document (\d+)(?:: (items\[\d+\]))?(?:: (.*))?$`)
	lineOfSyntax  = lazy.Regexp(`^yaml: line (\d+): `)
	leadingNumber = lazy.Regexp(`^\[(\d+)\]`)
)

// Line returns the line of a field such as "spec.targets[0].url" of the LoadTest, or "document 2: metadata.name" of
// another document. If the field does not exist, it returns the line of the nearest parent that exists.
func (p *Positions) Line(path string) int {
	number, item := p.loadTest, p.item
	if m := documentPath().FindStringSubmatch(path); m != nil {
		number, _ = strconv.Atoi(m[1])
		item, path = m[2], m[3]
	}
	if path == "" && item == "" && number == p.loadTest || number < 1 || number > len(p.documents) {
		return 0
	}
	return p.documents[number-1].find(inItem(item, path))
}

// inItem returns the path in a document of a path in an item of a List.
func inItem(item, path string) string { return strings.Trim(item+"."+path, ".") }

// syntax returns the message of a parser with a hint, and the line in the manifest. The parser has the line in the
// document.
func (d *document) syntax(message string) (absolute string, line int) {
	m := lineOfSyntax().FindStringSubmatch(message)
	if m == nil {
		return message, 0
	}
	n, _ := strconv.Atoi(m[1])
	if problem := message[len(m[0]):]; strings.HasPrefix(problem, "did not find expected") {
		n = cmp.Or(d.rejected(strings.HasPrefix(problem, flowProblem)), n)
	}
	if trap, corrected := d.flowTrap(n); trap > 0 {
		return "not valid YAML: ${...} inside { } or [ ] needs quotes; write " + corrected, d.line - 1 + trap
	}
	line = d.line - 1 + min(n, max(1, bytes.Count(d.source, []byte("\n")))) // not the one behind the last
	return "not valid YAML: " + syntaxHint(message[len(m[0]):], d.lineText(n)), line
}

// flowProblem is how the message about an unexpected token inside { } or [ ] begins.
const flowProblem = "did not find expected ',' or"

// lookAhead is how many bytes the parser reads ahead.
const lookAhead = 4

// rejected is the line, from 1, that the parser reads when it fails; 0: it does not fail. Of an unexpected token the
// parser's message has the line where the list or the object around the token begins, or the line above the token.
// inFlow: the token is inside { } or [ ]. After a token that may be a key, the parser reads until the line ends and
// looks a few bytes ahead in the next line. It gets one byte at a time, so that it reads no more than it needs.
func (d *document) rejected(inFlow bool) int {
	r := bytes.NewReader(d.source)
	var v any
	if err := yamlv2.NewDecoder(iotest.OneByteReader(r)).Decode(&v); err == nil || errors.Is(err, io.EOF) {
		return 0
	}
	read := bytes.TrimRight(d.source[:len(d.source)-r.Len()], " \r\n")
	line := 1 + bytes.Count(read, []byte("\n"))
	last := bytes.TrimLeft(read[bytes.LastIndexByte(read, '\n')+1:], " ")
	if len(last) <= lookAhead && inFlow && line > 1 {
		line--
	}
	return line
}

// lineText returns line n of the document, from 1.
func (d *document) lineText(n int) string {
	lines := strings.Split(string(d.source), "\n")
	return lines[min(max(n, 1), len(lines))-1]
}

// syntaxHint returns what to change in a line that the YAML parser rejects, or the parser's message.
func syntaxHint(message, line string) string {
	switch {
	case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
		return "the line is indented with a tab; use spaces"
	case message == "mapping values are not allowed in this context":
		return "unexpected \":\"; check the indentation of this line and of the line above, and put quotes around a value with \": \" in it"
	case message == "did not find expected '-' indicator":
		return "the line is neither an item of the list above nor a field of its last item; check the indentation"
	case strings.HasPrefix(message, flowProblem):
		return message + "; check the quotes and brackets of this line and of the lines above"
	case message == "did not find expected key" && strings.Contains(line, "}") && strings.Contains(line, "${"):
		return message + "; put quotes around a value that has { or [ in it"
	case message == "did not find expected key":
		return message + "; check the indentation of this line, and the quotes and brackets of the lines above"
	case message == "could not find expected ':'":
		return message + "; write a space after the colon of this line or of the line above"
	}
	return message
}

func (d *document) node() *yaml.Node {
	if d.parsed {
		return d.root
	}
	d.parsed = true
	if d.json {
		d.root = JSONNodes(d.source)
		return d.root
	}
	var n yaml.Node
	if yaml.Unmarshal(d.source, &n) == nil && len(n.Content) == 1 {
		d.root = n.Content[0]
	}
	return d.root
}

// find returns the line of the last field of a path that exists.
func (d *document) find(path string) int {
	at, line := d.node(), 1
	if at != nil {
		line = at.Line
	}
	for at != nil && path != "" {
		child, rest := d.step(at, path)
		if child.node == nil {
			break
		}
		line, at, path = child.line, child.node, rest
	}
	return d.line - 1 + line
}

// entry is a child of a node, and its line: the line of its key, if it has one.
type entry struct {
	node *yaml.Node
	line int
}

// step follows the first name, index or key of a path, and returns the rest of the path.
func (d *document) step(at *yaml.Node, path string) (found entry, rest string) {
	path = strings.TrimPrefix(path, ".")
	at = dereference(at)
	if at.Kind == yaml.SequenceNode {
		m := leadingNumber().FindStringSubmatch(path)
		if m == nil {
			return entry{}, ""
		}
		i, err := strconv.Atoi(m[1])
		if err != nil || i >= len(at.Content) {
			return entry{}, ""
		}
		return entry{at.Content[i], at.Content[i].Line}, path[len(m[0]):]
	}
	return d.lookUp(at, path, maxMerges)
}

// maxMerges is the maximum depth of "<<": a mapping can merge itself.
const maxMerges = 16

// lookUp finds the longest key with which a path begins: names can have dots, and the text in brackets can be a key,
// too.
func (d *document) lookUp(at *yaml.Node, path string, merges int) (found entry, rest string) {
	at = dereference(at)
	if at.Kind != yaml.MappingNode {
		return entry{}, ""
	}
	keys, longest := d.keysOf(at), 0
	for n := range elements(path) {
		key, has := keys[path[:n]]
		if !has && path[0] == '[' && path[n-1] == ']' {
			key, has = keys[path[1:n-1]]
		}
		if has {
			longest, found = n, key
		}
	}
	if longest > 0 {
		return found, path[longest:]
	}
	for i := 0; i+1 < len(at.Content) && merges > 0; i += 2 {
		if at.Content[i].Value != "<<" {
			continue
		}
		for _, base := range bases(at.Content[i+1]) {
			if found, rest = d.lookUp(base, path, merges-1); found.node != nil {
				return found, rest
			}
		}
	}
	return entry{}, ""
}

// keysOf returns the entries of a mapping by their keys. It reads a mapping once, so that the lines of n fields cost n
// steps.
func (d *document) keysOf(mapping *yaml.Node) map[string]entry {
	keys := d.keys[mapping]
	if keys == nil {
		keys = make(map[string]entry, len(mapping.Content)/2)
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			key := mapping.Content[i]
			if _, taken := keys[key.Value]; !taken && key.Value != "" {
				keys[key.Value] = entry{mapping.Content[i+1], key.Line}
			}
		}
		if d.keys == nil {
			d.keys = map[*yaml.Node]map[string]entry{}
		}
		d.keys[mapping] = keys
	}
	return keys
}

// maxElements is how many elements of a path are looked at. A path of the schema has fewer; the name of an unknown
// field can have a million dots.
const maxElements = 64

// elements returns where the elements of a path end, the nearest first: 1, 4 and 6 of a[0].b.
func elements(path string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n, found := 1, 0; n < len(path) && found < maxElements; n++ {
			if path[n] == '.' || path[n] == '[' {
				found++
				if !yield(n) {
					return
				}
			}
		}
		if path != "" {
			yield(len(path))
		}
	}
}

// bases returns the mappings that "<<" refers to.
func bases(n *yaml.Node) []*yaml.Node {
	if n = dereference(n); n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// dereference follows one alias: an alias cannot refer to another alias.
func dereference(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// twice calls report for each key that a mapping has more than once, with its path and lines in the document.
func twice(n *yaml.Node, path string, report func(path string, line, first int)) {
	switch n.Kind {
	case yaml.SequenceNode, yaml.DocumentNode:
		for i, item := range n.Content {
			twice(item, fmt.Sprintf("%s[%d]", path, i), report)
		}
	case yaml.MappingNode:
		type name struct{ tag, value string }
		first := map[name]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			at := strings.TrimPrefix(path+"."+key.Value, ".")
			if line, taken := first[name{key.ShortTag(), key.Value}]; taken && key.Kind == yaml.ScalarNode {
				report(at, key.Line, line)
			} else {
				first[name{key.ShortTag(), key.Value}] = key.Line
			}
			twice(n.Content[i+1], at, report)
		}
	}
}
