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

// Decode reads a plan that Gzip wrote, and checks it with Check, so that a runner can use its indices without further
// checks.
func Decode(gz []byte) (*runnerv1alpha1.Plan, error) {
	return DecodePlan(bytes.NewReader(gz))
}

// DecodePlan is Decode for a stream. It returns an error if the plan is larger than the bounds of this package, or if
// bytes follow the compressed plan.
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

// Parse reads a plan's canonical bytes. An unknown field is an error: a runner that ignored the field would send
// another load than the user asked for.
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
