package convert

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// head is the comment above all, with what is about no special place.
func (d *Draft) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", oneLine(d.title))
	first := true
	for _, n := range d.notes {
		if n.at != "" {
			continue
		}
		if first {
			b.WriteString("# What is not the same:\n")
			first = false
		}
		fmt.Fprintf(&b, "#   %s\n", n.line)
	}
	return b.String()
}

// comment puts the notes where they belong.
func (d *Draft) comment(root *yaml.Node) {
	for _, n := range d.notes {
		if n.at == "" {
			continue
		}
		at := place(root, n.at)
		if at.HeadComment != "" {
			at.HeadComment += "\n"
		}
		at.HeadComment += "# " + n.line
	}
}

// place is the node that a comment for a path stands above: a key or an entry of a list. What is
// not there is given up for what it would be in.
func place(root *yaml.Node, path string) *yaml.Node {
	at, value := root, root
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		key, next := child(value, step)
		if next == nil {
			break
		}
		at, value = key, next
	}
	return at
}

func child(of *yaml.Node, step string) (key, value *yaml.Node) {
	switch of.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == step {
				return of.Content[i], of.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(of.Content) {
			return of.Content[i], of.Content[i]
		}
	}
	return nil, nil
}
