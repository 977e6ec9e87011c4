package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ErrConflict reports that a patch is well-formed and does not go with the document.
var ErrConflict = errors.New("the patch does not fit the document")

// operation is one of a JSON patch. Absent members are nil.
type operation struct {
	Op    string           `json:"op"`
	Path  *string          `json:"path"`
	From  *string          `json:"from"`
	Value *json.RawMessage `json:"value"`
}

// Patch applies a JSON patch (RFC 6902) to a document, whole or not at all. When the document
// lacks what the patch needs, or a test fails, the error is ErrConflict.
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
	room := maxCopied
	for i, op := range list {
		if root, err = op.apply(root, &room); err != nil {
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

// maxOperations bounds the time that a patch takes: each may move a long array.
const maxOperations = 1000

// maxCopied bounds what the copies of one patch come to, in bytes or so: each may double the document.
const maxCopied = 1 << 20

// apply uses up room with what it copies.
func (o *operation) apply(root any, room *int) (any, error) {
	path, err := split(o.Path, "path")
	if err != nil {
		return nil, err
	}
	var value any
	switch o.Op {
	case "add", "replace", "test":
		// A pointer to RawMessage is nil for null as well as for a missing value, which the
		// standard's decoder cannot tell apart; both are taken for null.
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
			if value = clone(value, room); *room < 0 {
				return nil, fmt.Errorf("copies over %d bytes: %w", maxCopied, ErrConflict)
			}
			break
		}
		if len(from) < len(path) && slices.Equal(from, path[:len(from)]) {
			return nil, fmt.Errorf("moves a value into itself: %w", ErrConflict)
		}
		if root, err = change(root, from, remove); err != nil {
			return nil, err
		}
	}
	switch o.Op {
	case "add", "move", "copy":
		return change(root, path, add(value))
	case "replace":
		return change(root, path, replace(value))
	case "remove":
		return change(root, path, remove)
	case "test":
		found, err := find(root, path)
		if err == nil && !reflect.DeepEqual(found, value) {
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

// edit changes the member or element token of a container; at the root, container is nil.
type edit func(container any, token string) (any, error)

// change applies an edit to what path leads to, and returns the new root.
func change(root any, path []string, do edit) (any, error) {
	if len(path) == 0 {
		return do(nil, "")
	}
	if len(path) == 1 {
		return do(root, path[0])
	}
	inner, err := find(root, path[:1])
	if err != nil {
		return nil, err
	}
	if inner, err = change(inner, path[1:], do); err != nil {
		return nil, err
	}
	return replace(inner)(root, path[0])
}

func add(value any) edit {
	return func(container any, token string) (any, error) {
		switch in := container.(type) {
		case nil:
			return value, nil
		case map[string]any:
			in[token] = value
			return in, nil
		case []any:
			if token == "-" {
				return append(in, value), nil
			}
			i, err := index(token, len(in))
			if err != nil {
				return nil, err
			}
			return slices.Insert(in, i, value), nil
		}
		return nil, missing(token)
	}
}

func replace(value any) edit {
	return func(container any, token string) (any, error) {
		switch in := container.(type) {
		case nil:
			return value, nil
		case map[string]any:
			if _, ok := in[token]; !ok {
				return nil, missing(token)
			}
			in[token] = value
			return in, nil
		case []any:
			i, err := index(token, len(in)-1)
			if err != nil {
				return nil, err
			}
			in[i] = value
			return in, nil
		}
		return nil, missing(token)
	}
}

func remove(container any, token string) (any, error) {
	switch in := container.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		if _, ok := in[token]; !ok {
			return nil, missing(token)
		}
		delete(in, token)
		return in, nil
	case []any:
		i, err := index(token, len(in)-1)
		if err != nil {
			return nil, err
		}
		return slices.Delete(in, i, i+1), nil
	}
	return nil, missing(token)
}

// clone copies a value, and stops when there is no room left.
func clone(v any, room *int) any {
	*room -= 16
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if *room -= len(name); *room < 0 {
				break
			}
			out[name] = clone(member, room)
		}
		return out
	case []any:
		var out []any
		for i := 0; i < len(v) && *room >= 0; i++ {
			out = append(out, clone(v[i], room))
		}
		if out == nil {
			return []any{}
		}
		return out
	case string:
		*room -= len(v)
	case json.Number:
		*room -= len(v)
	}
	return v
}
