package chain

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Resources has what a plan needs from its machine.
type Resources struct {
	// Share has the number of the shard; nil: the first shard.
	Share *rv.Share
	// Env looks up an environment variable; nil: no variable is set.
	Env func(string) (string, bool)
	// ReadFile reads a file that the plan refers to; nil: no file exists.
	ReadFile func(string) ([]byte, error)
}

func (r *Resources) env(name string) (string, bool) {
	if r.Env == nil {
		return "", false
	}
	return r.Env(name)
}

// shard returns the index into perShard.
func (r *Resources) shard() int {
	if r.Share == nil {
		return 0
	}
	return r.Share.Shard
}

// content returns the octets of c. They can belong to the plan, so the caller must not change them.
func (r *Resources) content(c *rv.Content) ([]byte, error) {
	switch {
	case c.Env != "":
		value, ok := r.env(c.Env)
		if !ok {
			return nil, fmt.Errorf("the environment has no variable %s", c.Env)
		}
		return []byte(value), nil
	case c.File != "":
		return r.file(c)
	case c.Bytes != nil:
		return c.Bytes, nil
	}
	return []byte(c.Text), nil
}

// file reads a file. Its errors never quote the content, which can be secret.
func (r *Resources) file(c *rv.Content) ([]byte, error) {
	if r.ReadFile == nil {
		return nil, fmt.Errorf("file %s: files cannot be used here", c.File)
	}
	b, err := r.ReadFile(c.File)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	if c.Trim {
		b = trimLineEnd(b)
	}
	if !c.Base64 {
		return b, nil
	}
	out, err := base64.StdEncoding.AppendDecode(nil, b)
	var bad base64.CorruptInputError
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("file %s: byte %d is not base64 (RFC 4648 4)", c.File, int64(bad))
	}
	return out, err
}

func trimLineEnd(b []byte) []byte {
	b, found := bytes.CutSuffix(b, []byte("\n"))
	if found {
		b, _ = bytes.CutSuffix(b, []byte("\r"))
	}
	return b
}
