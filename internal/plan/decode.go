package plan

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Decode reads a plan that Gzip wrote. The plan has been checked (Check), so that whoever
// executes it may use its indices without a second look.
func Decode(gz []byte) (*runnerv1alpha1.Plan, error) {
	return DecodePlan(bytes.NewReader(gz))
}

// DecodePlan is Decode for a stream. It reads no more than the bounds of this package allow and
// nothing behind the end of the compressed plan is accepted.
func DecodePlan(r io.Reader) (*runnerv1alpha1.Plan, error) {
	zr, err := gzip.NewReader(io.LimitReader(r, MaxCompressed+1))
	if err != nil {
		return nil, fmt.Errorf("decompressing the plan: %w", err)
	}
	canonical, err := io.ReadAll(io.LimitReader(zr, MaxCanonical+1))
	if err != nil {
		return nil, fmt.Errorf("decompressing the plan: %w", err)
	}
	if len(canonical) > MaxCanonical {
		return nil, &TooLargeError{What: "canonical", Size: len(canonical), Limit: MaxCanonical}
	}
	return Parse(canonical)
}

// Parse reads a plan's canonical bytes. A field that this version does not know is an error: a
// runner that ignored it would send another load than was asked for.
func Parse(canonical []byte) (*runnerv1alpha1.Plan, error) {
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.DisallowUnknownFields()
	p := &runnerv1alpha1.Plan{}
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("decoding the plan: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decoding the plan: there is more data after it")
	}
	if err := Check(p); err != nil {
		return nil, err
	}
	return p, nil
}
