package plan

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// MaxCompressed is the maximum size of the compressed plan, in bytes. A ConfigMap has at most 1 MiB of keys and
	// values; 4 KiB are for the keys and for the other values.
	MaxCompressed = 1<<20 - 4<<10
	// MaxCanonical is the maximum size of the canonical form, in bytes, for encoding and for decoding. A small
	// compressed input therefore cannot fill the memory.
	MaxCanonical = 16 << 20
	// MaxSteps is the maximum number of steps of all chains together: each snapshot and the report have an entry for each
	// step.
	MaxSteps = 256
	// MaxWeight is the maximum weight of a chain. The sum of 64 weights fits into an int64, and every JSON library can
	// represent a weight exactly (RFC 8259 6).
	MaxWeight = 1 << 48
)

// TooLargeError reports that a plan is too large. The operator reports it with reason PlanTooLarge.
type TooLargeError struct {
	// What was measured: "canonical" or "compressed".
	What string
	// Size and Limit are in bytes.
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the plan has %d %s bytes; allowed: at most %d", e.Size, e.What, e.Limit)
}

// Canonical returns the canonical form of a plan, and its digest: the SHA-256 in hexadecimal. The operator stores the
// digest where only it can write, and a runner executes only the plan with that digest.
// The same plan gives the same bytes in every process: fields come in the order of the Go types,
// map keys sorted, no white space, and escapes only where JSON needs them.
func Canonical(p *runnerv1alpha1.Plan) (canonical []byte, digest string, err error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, "", fmt.Errorf("encoding the plan: %w", err)
	}
	canonical = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	return canonical, digestOf(canonical), nil
}

func digestOf(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// Hash returns the hash that status and reports show: the digest of the plan without its address policy and request
// limit. One manifest has one hash, whatever the configuration of the operator that runs it allows.
func Hash(p *runnerv1alpha1.Plan) (string, error) {
	without := *p
	without.Policy, without.RequestLimit = nil, 0
	_, hash, err := Canonical(&without)
	return hash, err
}

// PolicyHash returns the digest of what Hash leaves out; empty: the plan has no address policy and no request limit.
func PolicyHash(p *runnerv1alpha1.Plan) (string, error) {
	if p.Policy == nil && p.RequestLimit == 0 {
		return "", nil
	}
	_, hash, err := Canonical(&runnerv1alpha1.Plan{Policy: p.Policy, RequestLimit: p.RequestLimit})
	return hash, err
}

// Gzip compresses canonical bytes. The same input gives the same output: the header carries
// neither a time nor a name. It returns a *TooLargeError when input or output is over its bound.
func Gzip(canonical []byte) ([]byte, error) {
	if len(canonical) > MaxCanonical {
		return nil, &TooLargeError{What: "canonical", Size: len(canonical), Limit: MaxCanonical}
	}
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compressing the plan: %w", err)
	}
	if _, err := w.Write(canonical); err != nil {
		return nil, fmt.Errorf("compressing the plan: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing the plan: %w", err)
	}
	if buf.Len() > MaxCompressed {
		return nil, &TooLargeError{What: "compressed", Size: buf.Len(), Limit: MaxCompressed}
	}
	return buf.Bytes(), nil
}

// LoadHash returns the digest of what a plan sends. Runs of one schedule have different names and seeds, and the same
// LoadHash. Fields that decide about the result, or how long a run may take, are left out.
func LoadHash(p *runnerv1alpha1.Plan) (string, error) {
	load := *p
	load.Name, load.Seed, load.Thresholds, load.Baselines, load.Shards = "", 0, nil, nil, 0
	load.Observe, load.OTLP, load.Policy, load.RequestLimit, load.Deadline, load.LeaseDuration = nil, 0, nil, 0, 0, 0
	load.Rates = slices.Clone(p.Rates)
	for i := range load.Rates {
		load.Rates[i].Seed = 0
	}
	_, hash, err := Canonical(&load)
	return hash, err
}
