package v1alpha1

// Baseline is an earlier run that a threshold compares with. Set exactly one field. The run must have had the same
// requests, rates and number of shards. Otherwise, and if its report does not exist, the verdict is Inconclusive
// with the reason NotCompared.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Baseline struct {
	// report is a report that was kept.
	// +optional
	Report *BaselineReport `json:"report,omitempty"`
	// schedule is the name of a LoadTestSchedule in the namespace of the LoadTest. The baseline is its last LoadTest that
	// started before this one and passed, or that only lacked a baseline itself, as the first one does. The command line
	// does not know schedules. Bounds: at most 41 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=41
	Schedule string `json:"schedule,omitempty"`
}

// BaselineReport is the place of a report. Set exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type BaselineReport struct {
	// configMapRef is a ConfigMap in the namespace of the LoadTest whose binaryData has the report as report.json.gz, such
	// as that of status.report. On the command line it must be in the manifest.
	// +optional
	ConfigMapRef *ConfigMapReference `json:"configMapRef,omitempty"`
	// file is the path of a report in JSON, compressed by gzip or not. It is allowed with h2surge run only. Bounds: at
	// most 4096 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}
