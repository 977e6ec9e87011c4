package compile

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// JSONNodes parses JSON to YAML nodes with their lines; nil: it is not JSON. The YAML parser does not accept all JSON:
// it does not know surrogate pairs, and its keys have at most 1024 characters. Texts and null have tags.
func JSONNodes(source []byte) *yaml.Node {
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(source)), source: source, line: 1}
	r.dec.UseNumber()
	n, err := r.value()
	if err != nil {
		return nil
	}
	return n
}

type jsonReader struct {
	dec    *json.Decoder
	source []byte
	offset int // up to which lines are counted
	line   int
}

func (r *jsonReader) token() (json.Token, error) {
	t, err := r.dec.Token()
	end := int(r.dec.InputOffset())
	r.line += bytes.Count(r.source[r.offset:end], []byte("\n"))
	r.offset = end
	return t, err
}

// value reads one value. A token cannot have a line end, so the line in which it ends is the line in which it begins.
func (r *jsonReader) value() (*yaml.Node, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Line: r.line, Kind: yaml.ScalarNode}
	switch v := t.(type) {
	case nil:
		n.Tag = "!!null"
		return n, nil
	case json.Delim:
		n.Kind = map[json.Delim]yaml.Kind{'{': yaml.MappingNode, '[': yaml.SequenceNode}[v]
	case string:
		n.Tag, n.Value = "!!str", v
		return n, nil
	default:
		n.Value = fmt.Sprint(v)
		return n, nil
	}
	for r.dec.More() {
		part, err := r.value()
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, part)
	}
	_, err = r.token() // what closes it
	return n, err
}
