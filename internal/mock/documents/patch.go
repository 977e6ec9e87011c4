package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrConflict means that a patch is well-formed but cannot be applied to the document.
var ErrConflict = errors.New("the patch does not fit the document")

// operation is one of a JSON patch. Absent members are nil.
type operation struct {
	Op    string           `json:"op"`
	Path  *string          `json:"path"`
	From  *string          `json:"from"`
	Value *json.RawMessage `json:"value"`
}

// Patch applies a JSON patch (RFC 6902) to a document and returns the result. The error is ErrConflict if the document
// lacks a value that the patch needs, or if a test fails.
func Patch(doc, patch []byte) ([]byte, error) {
	var list []operation
	if err := json.Unmarshal(patch, &list); err != nil {
		return nil, fmt.Errorf("JSON patch: %w", err)
	}
	root, err := decode(doc)
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	if len(list) > maxOperations {
		return nil, fmt.Errorf("JSON patch: %d operations; allowed: at most %d", len(list), maxOperations)
	}
	left := maxCopied
	for i, op := range list {
		if root, err = op.apply(root, &left); err != nil {
			return nil, fmt.Errorf("JSON patch, operation %d: %w", i, err)
		}
	}
	return encode(root)
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}

// maxOperations bounds the time of a patch: each operation may move a long array.
const maxOperations = 1000

// maxCopied bounds the approximate size of all copies of a patch, in bytes: each copy may double the document.
const maxCopied = 1 << 20

// apply applies the operation and returns the new document. It subtracts the size of copies from left.
func (o *operation) apply(root any, left *int) (any, error) {
	path, err := split(o.Path, "path")
	if err != nil {
		return nil, err
	}
	var value any
	switch o.Op {
	case "add", "replace", "test":
		// encoding/json sets Value to nil for null and for a missing value. Both mean null here.
		if o.Value != nil {
			if value, err = decode(*o.Value); err != nil {
				return nil, err
			}
		}
	case "move", "copy":
		from, err := split(o.From, "from")
		if err != nil {
			return nil, err
		}
		if value, err = find(root, from); err != nil {
			return nil, err
		}
		if o.Op == "copy" {
			if value = clone(value, left); *left < 0 {
				return nil, fmt.Errorf("copies over %d bytes: %w", maxCopied, ErrConflict)
			}
			break
		}
		if len(from) < len(path) && slices.Equal(from, path[:len(from)]) {
			return nil, fmt.Errorf("moves a value into itself: %w", ErrConflict)
		}
		if root, err = edit(root, from, remove, nil); err != nil {
			return nil, err
		}
	}
	switch o.Op {
	case "add", "move", "copy":
		return edit(root, path, add, value)
	case "replace":
		return edit(root, path, replace, value)
	case "remove":
		return edit(root, path, remove, nil)
	case "test":
		found, err := find(root, path)
		if err == nil && !equal(found, value) {
			err = fmt.Errorf("%s is another value: %w", *o.Path, ErrConflict)
		}
		return root, err
	}
	return nil, fmt.Errorf("op %q is not known (RFC 6902 section 4)", o.Op)
}

func split(pointer *string, member string) ([]string, error) {
	switch {
	case pointer == nil:
		return nil, fmt.Errorf("has no %s", member)
	case *pointer == "":
		return nil, nil
	case (*pointer)[0] != '/':
		return nil, fmt.Errorf("%s %q does not begin with /", member, *pointer)
	}
	tokens := strings.Split((*pointer)[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

func find(v any, path []string) (any, error) {
	for _, token := range path {
		switch in := v.(type) {
		case map[string]any:
			member, ok := in[token]
			if !ok {
				return nil, missing(token)
			}
			v = member
		case []any:
			i, err := index(token, len(in)-1)
			if err != nil {
				return nil, err
			}
			v = in[i]
		default:
			return nil, missing(token)
		}
	}
	return v, nil
}

func missing(token string) error { return fmt.Errorf("there is no %q: %w", token, ErrConflict) }

func index(token string, most int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i > most || token != strconv.Itoa(i) {
		return 0, missing(token)
	}
	return i, nil
}

// The kinds of change that edit makes.
const (
	add = iota
	replace
	remove
)

// edit adds, replaces or removes what path leads to, and returns the new value of in.
func edit(in any, path []string, kind int, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	token, last := path[0], len(path) == 1
	switch in := in.(type) {
	case map[string]any:
		return editMember(in, path, kind, value)
	case []any:
		highest := len(in) - 1
		if last && kind == add {
			if token == "-" {
				return append(in, value), nil
			}
			highest++
		}
		i, err := index(token, highest)
		switch {
		case err != nil:
			return nil, err
		case last && kind == add:
			return slices.Insert(in, i, value), nil
		case last && kind == remove:
			return slices.Delete(in, i, i+1), nil
		}
		in[i], err = edit(in[i], path[1:], kind, value)
		return in, err
	}
	return nil, missing(token)
}

func editMember(in map[string]any, path []string, kind int, value any) (any, error) {
	token, last := path[0], len(path) == 1
	member, ok := in[token]
	switch {
	case last && kind == add:
		in[token] = value
		return in, nil
	case !ok:
		return nil, missing(token)
	case last && kind == remove:
		delete(in, token)
		return in, nil
	}
	member, err := edit(member, path[1:], kind, value)
	in[token] = member
	return in, err
}

// clone copies a value and subtracts its size from left. It stops when left is negative.
func clone(v any, left *int) any {
	*left -= 16
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if *left -= len(name); *left < 0 {
				break
			}
			out[name] = clone(member, left)
		}
		return out
	case []any:
		var out []any
		for i := 0; i < len(v) && *left >= 0; i++ {
			out = append(out, clone(v[i], left))
		}
		if out == nil {
			return []any{}
		}
		return out
	case string:
		*left -= len(v)
	case json.Number:
		*left -= len(v)
	}
	return v
}
