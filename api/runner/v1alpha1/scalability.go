package v1alpha1

// Scalability is the Universal Scalability Law (N. J. Gunther) fitted to the loads of a run:
//
//	X(N) = rateOfOne * N / (1 + contention*(N-1) + coherency*N*(N-1))
//
// N is the concurrency and X(N) the rate of successful responses.
type Scalability struct {
	// Message says in a sentence at which load the rate is highest, or why there is no fit.
	Message string `json:"message"`
	// Points are the loads that the fit is on.
	Points []ScalabilityPoint `json:"points,omitempty"`
	// Fit is nil if there is no fit.
	Fit *ScalabilityFit `json:"fit,omitempty"`
}

// ScalabilityPoint is one load of a run.
type ScalabilityPoint struct {
	// Of is "probe 3", or the name of a stage.
	Of string `json:"of"`
	// Concurrency is the mean number of requests in flight: responses per second times mean response time (Little's law).
	Concurrency float64 `json:"concurrency"`
	// Rate is the number of successful responses per second.
	Rate float64 `json:"rate"`
}

// ScalabilityFit has the coefficients.
type ScalabilityFit struct {
	// RateOfOne is the rate with one request in flight.
	RateOfOne float64 `json:"rateOfOne"`
	// Contention is the share of the work that requests do one after another. Coherency is the share that each pair of
	// requests adds.
	Contention float64 `json:"contention"`
	Coherency  float64 `json:"coherency"`
	// Error is the root of the mean squared error of rates, as a share of the highest rate of the points.
	Error float64 `json:"error"`
	// Knee is the load above which the rate falls. Nil: the points do not show one.
	Knee *ScalabilityKnee `json:"knee,omitempty"`
	// Limit is the rate that the target approaches without a knee. Zero: it has a knee, or no contention.
	Limit float64 `json:"limit,omitempty"`
}

// ScalabilityKnee is the load with the highest rate, with the bounds of its 95 % confidence intervals.
type ScalabilityKnee struct {
	Concurrency     float64 `json:"concurrency"`
	ConcurrencyLow  float64 `json:"concurrencyLow"`
	ConcurrencyHigh float64 `json:"concurrencyHigh"`
	Rate            float64 `json:"rate"`
	RateLow         float64 `json:"rateLow"`
	RateHigh        float64 `json:"rateHigh"`
	// Extrapolated is true if no point has this concurrency or more.
	Extrapolated bool `json:"extrapolated,omitempty"`
}

// At returns X(N) for a concurrency.
func (f *ScalabilityFit) At(n float64) float64 {
	return f.RateOfOne * n / (1 + f.Contention*(n-1) + f.Coherency*n*(n-1))
}
