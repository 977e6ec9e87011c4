package v1alpha1

// Sample is a failed response, as evidence of why it failed.
type Sample struct {
	Chain string `json:"chain"`
	Step  string `json:"step"`
	// Check is the first check that failed: a name of StepCounters.FailedBy.
	Check  string `json:"check"`
	Status int    `json:"status"`
	// Outcome is AbortTimedOut, AbortReset or AbortConnectionLost if there is no whole response. Then Check is empty.
	// Only requests with a traceparent have such samples.
	Outcome string `json:"outcome,omitempty"`
	// At is when the response was complete, in milliseconds since the start.
	At int64 `json:"at"`
	// Header has the fields in the order of the wire, up to 1 KiB. It is missing in the sample of a step that
	// failed once only. Values that may be secret are "***".
	Header []SampleField `json:"header,omitempty"`
	// Body is the beginning of the body, up to 1 KiB, with "***" for what may be secret. BodySize is the length of
	// the whole body, in octets.
	Body     string `json:"body,omitempty"`
	BodySize int64  `json:"bodySize,omitempty"`
	// Trace of the request.
	Trace
}

// Trace is the trace of a request with a traceparent (W3C Trace Context). It is empty for other requests.
type Trace struct {
	// TraceID has 32 hexadecimal digits.
	TraceID string `json:"traceID,omitempty"`
	// TraceSampled is true if the traceparent has the sampled flag.
	TraceSampled bool `json:"traceSampled,omitempty"`
}

// SlowRequest is one of the slowest requests with a whole response and a traceparent.
type SlowRequest struct {
	Chain  string `json:"chain"`
	Step   string `json:"step"`
	Status int    `json:"status"`
	// At is when the response was complete, in milliseconds since the start.
	At int64 `json:"at"`
	// ResponseTime is in microseconds.
	ResponseTime int64 `json:"responseTimeMicroseconds"`
	Trace
}

// SampleField is a header field.
type SampleField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Bounds of samples: of the same step, check and status; of a snapshot or report; and in octets.
const (
	MaxSamplesAlike = 2
	MaxSamples      = 32
	MaxSampleOctets = 1024
)

// MaxSlowest is how many of the slowest requests a snapshot or report has.
const MaxSlowest = 8

// IsLike says that two samples show the same failure.
func (s *Sample) IsLike(o *Sample) bool {
	return s.Outcome == o.Outcome && s.Status == o.Status && s.Step == o.Step && s.Chain == o.Chain && s.Check == o.Check
}
