package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/lazy"
)

// ordered is a value as YAML, with the fields in the order of its type. What is null is left out.
func ordered(v any) (*yaml.Node, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	n, err := ParseJSON(b.Bytes())
	if err != nil {
		return nil, err
	}
	if c := n.Content; len(c) > 3 && c[0].Value == "kind" && c[2].Value == "apiVersion" {
		c[0], c[1], c[2], c[3] = c[2], c[3], c[0], c[1] // the usual order
	}
	return n, nil
}

// ParseJSON reads a JSON value as YAML would, tabs and all; what is null is left out.
func ParseJSON(text []byte) (*yaml.Node, error) {
	if !json.Valid(text) { // which bounds the depth, too
		return nil, errors.New("is not JSON")
	}
	return styled(compile.JSONNodes(text)), nil
}

// styled returns a value in the style of a manifest; nil: it is null.
func styled(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Value: n.Value}
	switch {
	case n.Tag == "!!null":
		return nil
	case n.Tag == "!!str":
		return scalar(n.Value)
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if value := styled(n.Content[i+1]); value != nil {
				out.Content = append(out.Content, styled(n.Content[i]), value)
			}
		}
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			if value := styled(item); value != nil {
				out.Content = append(out.Content, value)
			}
		}
	}
	return out
}

var (
	// bare are texts that every YAML reads as texts without quotes: no numbers, dates, indicators.
	bare = lazy.Regexp(`^([A-Za-z/$][-A-Za-z0-9_./$?=+{}&,%]*(:[-A-Za-z0-9_./$?=+{}&,%]+)*|[1-5]xx|([0-9]+(ns|us|ms|s|m|h))+)$`)
	// words are those that YAML 1.1 reads as something else.
	words = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true,
		"false": true, "null": true}
)

// scalar is a text, quoted where it must be. Lines stand as lines.
func scalar(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	switch {
	case bare().MatchString(s) && !words[strings.ToLower(s)]:
		n.Style = 0
	case strings.Contains(s, "\n") && asLines(s):
		n.Style = yaml.LiteralStyle
	case printable(s):
		n.Style = yaml.SingleQuotedStyle
	}
	return n
}

// asLines: a literal block has no escapes, and is odd about white space at its ends.
func asLines(s string) bool {
	if s[0] == ' ' || s[0] == '\n' || strings.HasSuffix(s, "\n\n") || strings.Contains(s, " \n") ||
		strings.HasSuffix(s, " ") {
		return false
	}
	return printable(strings.ReplaceAll(s, "\n", ""))
}

// printable is narrow: what else there is, is written with escapes.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
