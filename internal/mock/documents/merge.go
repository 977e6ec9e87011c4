package documents

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Merge applies a merge patch (RFC 7396) to a document. Members come out sorted by name; numbers
// keep their digits.
func Merge(doc, patch []byte) ([]byte, error) {
	change, err := decode(patch)
	if err != nil {
		return nil, fmt.Errorf("merge patch: %w", err)
	}
	present, err := decode(doc)
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	return encode(merge(present, change))
}

func decode(text []byte) (any, error) {
	if !json.Valid(text) { // a decoder takes more values behind the first
		return nil, fmt.Errorf("is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func merge(present, change any) any {
	members, ok := change.(map[string]any)
	if !ok {
		return change
	}
	into, ok := present.(map[string]any)
	if !ok {
		into = map[string]any{}
	}
	for name, v := range members {
		if v == nil {
			delete(into, name)
		} else {
			into[name] = merge(into[name], v)
		}
	}
	return into
}
