package checkpoint

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// MaxBytes is the maximum size of the compressed snapshot of a runner that still sends requests.
const MaxBytes = 64 << 10

// Encoded is a compressed snapshot.
type Encoded struct {
	// Gzip is the snapshot as JSON, compressed.
	Gzip []byte
	// Boot and Sequence are those of the snapshot.
	Boot     string
	Sequence uint64
	// Dropped names the parts that were left out, in the order in which they were left out.
	Dropped []string
}

// stepTimes is the name of the part with the response times of steps, and phases the name of the part with their other
// times and those of targets.
const (
	stepTimes = "steps.responseTime"
	phases    = "phases"
)

// part is a part of a snapshot that can be left out.
type part struct {
	name string
	// size returns a lower bound of the compressed size of the part.
	size func(*runnerv1alpha1.Snapshot) int
	// remove removes the part. It can change fields of its argument, but nothing that these fields point to.
	remove func(*runnerv1alpha1.Snapshot)
}

// parts are in the order in which Encode leaves them out: histograms before counters, and those of single steps before
// those of the whole runner. The counters that remain are enough for a report.
var parts = []part{
	{
		name:   "samples",
		size:   func(*runnerv1alpha1.Snapshot) int { return 0 },
		remove: func(s *runnerv1alpha1.Snapshot) { s.Samples, s.Slowest = nil, nil },
	},
	{
		name: phases,
		size: func(s *runnerv1alpha1.Snapshot) int {
			n := 0
			for i := range s.Steps {
				n += size(s.Steps[i].ServiceTime) + size(s.Steps[i].TimeToFirstByte) + size(s.Steps[i].FirstMessage) +
					size(s.Steps[i].BetweenMessages) + size(s.Steps[i].LastMessage)
			}
			for i := range s.Targets {
				for _, h := range s.Targets[i].Distributions() {
					n += size(*h)
				}
			}
			return n
		},
		remove: func(s *runnerv1alpha1.Snapshot) {
			s.Steps, s.Targets = slices.Clone(s.Steps), nil
			for i := range s.Steps {
				s.Steps[i].ServiceTime, s.Steps[i].TimeToFirstByte = runnerv1alpha1.Histogram{}, runnerv1alpha1.Histogram{}
				s.Steps[i].FirstMessage, s.Steps[i].BetweenMessages = runnerv1alpha1.Histogram{}, runnerv1alpha1.Histogram{}
				s.Steps[i].LastMessage = runnerv1alpha1.Histogram{}
			}
		},
	},
	{
		name: stepTimes,
		size: func(s *runnerv1alpha1.Snapshot) int {
			n := 0
			for i := range s.Steps {
				n += size(s.Steps[i].ResponseTime) + size(s.Steps[i].FailedResponseTime)
			}
			return n
		},
		remove: func(s *runnerv1alpha1.Snapshot) {
			s.Steps = slices.Clone(s.Steps)
			for i := range s.Steps {
				s.Steps[i].ResponseTime, s.Steps[i].FailedResponseTime = runnerv1alpha1.Histogram{}, runnerv1alpha1.Histogram{}
			}
		},
	},
	{
		name: "stageSelections",
		size: func(s *runnerv1alpha1.Snapshot) int { return selectionTimes(s.StageSelections) },
		remove: func(s *runnerv1alpha1.Snapshot) {
			s.StageSelections = withoutTimes(s.StageSelections)
		},
	},
	{
		name: "selections",
		size: func(s *runnerv1alpha1.Snapshot) int { return selectionTimes(s.Selections) },
		remove: func(s *runnerv1alpha1.Snapshot) {
			s.Selections = withoutTimes(s.Selections)
		},
	},
	{
		name: "histograms",
		size: func(s *runnerv1alpha1.Snapshot) int {
			n := size(s.Lag) + size(s.ServiceTime)
			if h := s.Histograms; h != nil {
				n += size(h.ServiceTime) + size(h.TimeToFirstByte) + size(h.Lag) + size(h.Reconnecting) + size(h.Blocked) +
					size(h.Connect)
			}
			return n
		},
		remove: func(s *runnerv1alpha1.Snapshot) {
			s.Histograms, s.Lag, s.ServiceTime = nil, runnerv1alpha1.Histogram{}, runnerv1alpha1.Histogram{}
		},
	},
	{
		name: "listeners.time",
		size: func(s *runnerv1alpha1.Snapshot) int {
			n := 0
			for i := range s.Listeners {
				n += size(s.Listeners[i].Time)
			}
			return n
		},
		remove: func(s *runnerv1alpha1.Snapshot) {
			s.Listeners = slices.Clone(s.Listeners)
			for i := range s.Listeners {
				s.Listeners[i].Time = runnerv1alpha1.Histogram{}
			}
		},
	},
	{
		name:   "observations",
		size:   func(*runnerv1alpha1.Snapshot) int { return 0 },
		remove: func(s *runnerv1alpha1.Snapshot) { s.Observations = nil },
	},
	{
		name:   "responseTime",
		size:   func(s *runnerv1alpha1.Snapshot) int { return size(s.ResponseTime) },
		remove: func(s *runnerv1alpha1.Snapshot) { s.ResponseTime = runnerv1alpha1.Histogram{} },
	},
	{
		name: "problems",
		size: func(*runnerv1alpha1.Snapshot) int { return 0 },
		remove: func(s *runnerv1alpha1.Snapshot) {
			s.Steps = slices.Clone(s.Steps)
			for i := range s.Steps {
				s.Steps[i].Problems = nil
			}
		},
	},
	{
		name:   "causes",
		size:   func(*runnerv1alpha1.Snapshot) int { return 0 },
		remove: func(s *runnerv1alpha1.Snapshot) { s.Causes, s.Failures = nil, nil },
	},
}

// selectionTimes returns the size of the distributions of selections.
func selectionTimes(all []runnerv1alpha1.SelectionCounters) (n int) {
	for i := range all {
		n += size(all[i].Time)
	}
	return n
}

func withoutTimes(all []runnerv1alpha1.SelectionCounters) []runnerv1alpha1.SelectionCounters {
	out := slices.Clone(all)
	for i := range out {
		out[i].Time = runnerv1alpha1.Histogram{}
	}
	return out
}

// size returns a lower bound of the compressed size of a histogram. Its counts are compressed already, and base64 has
// 4 characters for 3 octets.
func size(h runnerv1alpha1.Histogram) int { return len(h.Counts) / 4 * 3 }

// Encode compresses a snapshot to at most limit bytes. It leaves out parts until the snapshot fits, and never writes
// Globals, because they can be secret. It returns an error if the counters alone exceed the limit.
func Encode(snapshot *runnerv1alpha1.Snapshot, limit int) (Encoded, error) {
	s := *snapshot
	s.Globals = nil
	out := Encoded{Boot: s.Boot, Sequence: s.Sequence}
	if lacksStepTimes(&s) {
		out.Dropped = append(out.Dropped, phases, stepTimes)
	}
	atLeast := 0
	for _, p := range parts {
		atLeast += p.size(&s)
	}
	for i := 0; ; i++ {
		if atLeast <= limit || i == len(parts) {
			var err error
			if out.Gzip, err = Compress(&s); err != nil {
				return Encoded{}, fmt.Errorf("encoding the snapshot of shard %d: %w", s.Shard, err)
			}
			if len(out.Gzip) <= limit {
				return out, nil
			}
		}
		if i == len(parts) {
			return Encoded{}, fmt.Errorf("the counters of shard %d have %d bytes; allowed: at most %d", s.Shard, len(out.Gzip),
				limit)
		}
		atLeast -= parts[i].size(&s)
		parts[i].remove(&s)
		if !slices.Contains(out.Dropped, parts[i].name) {
			out.Dropped = append(out.Dropped, parts[i].name)
		}
	}
}

// lacksStepTimes returns true if the operator polled the snapshot without the response times of steps.
func lacksStepTimes(s *runnerv1alpha1.Snapshot) bool {
	return slices.ContainsFunc(s.Steps,
		func(c runnerv1alpha1.StepCounters) bool { return c.Done > 0 && c.ResponseTime.Count == 0 })
}

// writers are reused, because a gzip.Writer has several hundred KiB.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// Compress returns a value as JSON, compressed.
func Compress(v any) ([]byte, error) {
	var out bytes.Buffer
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(&out)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Bounds of what Decode accepts. Others than the operator can have written the object. maxElements bounds the memory of
// the decoded snapshot: an array needs a comma for each element but the first.
const (
	maxDecoded  = 16 << 20
	maxElements = 1 << 18
)

// Decode returns the snapshot of Encode. It returns an error if the data is not a snapshot, or if it is larger than a
// snapshot can be.
func Decode(gz []byte) (*runnerv1alpha1.Snapshot, error) {
	r, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		return nil, fmt.Errorf("decoding a snapshot: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	if err != nil {
		return nil, fmt.Errorf("decoding a snapshot: %w", err)
	}
	if len(raw) > maxDecoded || bytes.Count(raw, []byte(",")) > maxElements {
		return nil, fmt.Errorf("decoding a snapshot: it has more than %d bytes or %d elements", maxDecoded, maxElements)
	}
	var s runnerv1alpha1.Snapshot
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("decoding a snapshot: %w", err)
	}
	s.Globals = nil
	return &s, nil
}
