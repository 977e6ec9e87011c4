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

// Decode reads a plan that Gzip wrote. It returns a *DigestError if digest is not empty and not that of the plan. The
// engine checks the content of a plan when it loads it; see package chain.
func Decode(gz []byte, digest string) (*runnerv1alpha1.Plan, error) {
	canonical, err := decompress(gz)
	if err != nil {
		return nil, err
	}
	if have := digestOf(canonical); digest != "" && have != digest {
		return nil, &DigestError{Have: have, Want: digest}
	}
	return Parse(canonical)
}

// DigestError reports that a plan is not the one that the operator stored.
type DigestError struct{ Have, Want string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("this is not the plan that the operator stored: its SHA-256 is %.12s, want %.12s", e.Have, e.Want)
}

func decompress(gz []byte) ([]byte, error) {
	zr, err := gzip.NewReader(io.LimitReader(bytes.NewReader(gz), MaxCompressed+1))
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
	return canonical, nil
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
	if p.APIVersion != runnerv1alpha1.APIVersion || p.Kind != runnerv1alpha1.PlanKind {
		return nil, fmt.Errorf("decoding the plan: apiVersion %q and kind %q are not %q and %q", p.APIVersion, p.Kind,
			runnerv1alpha1.APIVersion, runnerv1alpha1.PlanKind)
	}
	return p, nil
}
