package v1alpha1

// ObservationUnit is the unit of the values of an observation.
//
// +kubebuilder:validation:Enum=Cores;Bytes;BytesPerSecond;PerSecond;Count;Seconds;Percent
type ObservationUnit string

const (
	// UnitCores are CPU seconds per second.
	UnitCores ObservationUnit = "Cores"
	// UnitBytes are bytes.
	UnitBytes ObservationUnit = "Bytes"
	// UnitBytesPerSecond are bytes per second.
	UnitBytesPerSecond ObservationUnit = "BytesPerSecond"
	// UnitPerSecond is a number of anything else per second.
	UnitPerSecond ObservationUnit = "PerSecond"
	// UnitCount is a number without a unit.
	UnitCount ObservationUnit = "Count"
	// UnitSeconds are seconds.
	UnitSeconds ObservationUnit = "Seconds"
	// UnitPercent is a percentage: 50 is a half.
	UnitPercent ObservationUnit = "Percent"
)

// Observation is a figure of the target, which a runner reads while the test runs.
//
// +kubebuilder:validation:XValidation:rule="has(self.prometheus) != has(self.scrape)",message="exactly one of prometheus and scrape is needed"
type Observation struct {
	// name is the name of the observation. Bounds: at most 50 lower-case letters, digits and -.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// unit is that of the values. It does not convert them.
	// +required
	Unit ObservationUnit `json:"unit"`
	// prometheus asks a Prometheus server.
	// +optional
	Prometheus *ObservationQuery `json:"prometheus,omitempty"`
	// scrape reads a metric of a target every 5s.
	// +optional
	Scrape *ObservationScrape `json:"scrape,omitempty"`
}

// ObservationQuery is a query of a Prometheus server.
//
// +kubebuilder:validation:XValidation:rule="has(self.target) != has(self.url)",message="exactly one of target and url is needed"
type ObservationQuery struct {
	// target is the target to ask. The runner uses its first URL, tls and auth. To a target that no chain
	// names the runner opens no connections for the load.
	// +optional
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target,omitempty"`
	// url is the base URL of a server without tls and auth.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// query is in PromQL. Its result is a scalar or a vector. Of more than 16 series, the first 16 by label are
	// kept, and the series others is the sum of the rest.
	// +required
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// interval is the time between two queries. Default: 5s. Bounds: 1s to 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be from 1s to 1h"
	Interval *Duration `json:"interval,omitempty"`
}

// ObservationScrape is a metric in the text format of Prometheus or OpenMetrics.
type ObservationScrape struct {
	// target is as in prometheus.
	// +required
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target"`
	// path is that of the metrics. Default: /metrics.
	// +optional
	// +kubebuilder:default=/metrics
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`
	// metric is its name. A counter is shown as its increase per second.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Metric string `json:"metric"`
	// labels select series by equality. Default: all series.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Labels map[string]string `json:"labels,omitempty"`
	// quantile is that of a histogram or a summary. They need it. Example: "0.99". That of a histogram is of the time
	// since the last read.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^(0(\.[0-9]+)?|1)$`
	Quantile string `json:"quantile,omitempty"`
}

// OTLP is where runners send their figures: OTLP over HTTP, in JSON.
type OTLP struct {
	// target is the name of the target that receives them. The runner sends them to its first URL plus /v1/metrics, with
	// its tls and auth. To a target that no chain names the runner opens no connections for the load.
	// +required
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target"`
}
