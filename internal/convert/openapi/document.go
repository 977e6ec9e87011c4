package openapi

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/internal/convert"
)

const (
	// maxFiles and maxOctets bound what references may pull in.
	maxFiles, maxOctets = 200, 64 << 20
	// maxReferences is how many follow each other.
	maxReferences = 32
)

// value is a node and the file that it is in, which its references are relative to. The zero value is
// what is not there.
type value struct {
	node *yaml.Node
	file string
}

func (v value) is() bool { return v.node != nil }

func (v value) kind(k yaml.Kind) bool { return v.node != nil && v.node.Kind == k }

// at is the value of a node in the same file, through an alias.
func (v value) at(n *yaml.Node) value {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return value{n, v.file}
}

// raw is a member of an object, as it stands.
func (v value) raw(name string) value {
	if v.kind(yaml.MappingNode) {
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			if v.node.Content[i].Value == name {
				return v.at(v.node.Content[i+1])
			}
		}
	}
	return value{}
}

// names are those of the members, in order.
func (v value) names() (out []string) {
	if v.kind(yaml.MappingNode) {
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			out = append(out, v.node.Content[i].Value)
		}
	}
	return out
}

func (v value) items() (out []value) {
	if v.kind(yaml.SequenceNode) {
		for _, n := range v.node.Content {
			out = append(out, v.at(n))
		}
	}
	return out
}

// text is that of a scalar.
func (v value) text() string {
	if v.kind(yaml.ScalarNode) {
		return v.node.Value
	}
	return ""
}

func (v value) yes() bool { return v.text() == "true" }

func (v value) number() (n float64, is bool) {
	if !v.kind(yaml.ScalarNode) {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.node.Value, 64)
	return n, err == nil && n-n == 0 // neither infinite nor NaN
}

// documents are the files of a description.
type documents struct {
	*convert.Draft
	files  map[string]*yaml.Node
	octets int
}

// parse adds a file. Its root is nil if it cannot be read.
func (d *documents) parse(name string, text []byte) *yaml.Node {
	d.octets += len(text)
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if root, err := convert.ParseJSON(text); err == nil {
		d.files[name] = root
		return root
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		d.Fail(name, "cannot be read: %v", err)
	} else if len(doc.Content) > 0 {
		d.files[name] = doc.Content[0]
		return doc.Content[0]
	}
	d.files[name] = nil
	return nil
}

// open reads the file of a reference, once.
func (d *documents) open(name string) *yaml.Node {
	if root, has := d.files[name]; has {
		return root
	}
	d.files[name] = nil
	if len(d.files) > maxFiles || d.octets > maxOctets {
		d.Fail(name, "references lead to more than %d files or %d octets", maxFiles, maxOctets)
		return nil
	}
	text, ok := d.TryRead(name)
	if !ok {
		d.Warn("$ref", "%s cannot be read; what it describes is left empty", name)
		return nil
	}
	return d.parse(name, text)
}

// follow resolves references. It returns false, with a warning, if a reference cannot be resolved.
func (d *documents) follow(v value) (value, bool) {
	for range maxReferences {
		ref := v.raw("$ref")
		if !ref.kind(yaml.ScalarNode) {
			return v, v.is()
		}
		next, ok := d.resolve(v.file, ref.text())
		if !ok {
			return value{}, false
		}
		v = next
	}
	d.Warn("$ref", "%s leads in a circle", v.raw("$ref").text())
	return value{}, false
}

// get returns a member, with references resolved.
func (d *documents) get(v value, name string) value {
	out, _ := d.follow(v.raw(name))
	return out
}

// resolve returns the value of a reference: a file, if any, and a JSON Pointer (RFC 6901) into it. For a URL, it looks
// for the file in the folder of the referring file.
func (d *documents) resolve(from, ref string) (value, bool) {
	file, pointer, _ := strings.Cut(ref, "#")
	name := from
	if file != "" {
		if strings.Contains(file, "://") {
			file = file[strings.LastIndexByte(file, '/')+1:]
		}
		if decoded, err := url.PathUnescape(file); err == nil {
			file = decoded
		}
		name = file
		if !path.IsAbs(file) {
			name = path.Join(path.Dir(from), file)
		}
	}
	v := value{file: name}
	v = v.at(d.open(name))
	if !v.is() {
		return value{}, false
	}
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		step = unescapePointer(step)
		next := v.raw(step)
		if i, err := strconv.Atoi(step); err == nil && v.kind(yaml.SequenceNode) && i >= 0 && i < len(v.node.Content) {
			next = v.at(v.node.Content[i])
		}
		if !next.is() {
			d.Warn("$ref", "%s names nothing in %s", ref, name)
			return value{}, false
		}
		v = next
	}
	return v, true
}

// place is for messages.
func place(method, path string) string { return fmt.Sprintf("%s %s", method, path) }
