package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatorConfig says how the operator works. Every field has a default, so that an empty
// document of this kind is complete.
//
// +kubebuilder:object:root=true
type OperatorConfig struct {
	metav1.TypeMeta `json:",inline"`

	// namespaces are those whose LoadTests are run. Default: all.
	Namespaces []string `json:"namespaces,omitempty"`
	// operatorNamespace holds the install CA and the leader election lease. Default: the
	// environment variable POD_NAMESPACE, else h2surge-system.
	OperatorNamespace string `json:"operatorNamespace,omitempty"`
	// maxConcurrentReconciles is how many LoadTests are worked on at the same moment. It does
	// not bound how many run at the same time. Default 4.
	MaxConcurrentReconciles int `json:"maxConcurrentReconciles,omitempty"`

	LeaderElection LeaderElection `json:"leaderElection,omitzero"`
	Metrics        Metrics        `json:"metrics,omitzero"`
	Health         Health         `json:"health,omitzero"`
	Logging        Logging        `json:"logging,omitzero"`
	Runner         Runner         `json:"runner,omitzero"`
	Report         Report         `json:"report,omitzero"`
}

// LeaderElection lets several replicas stand by while one works.
type LeaderElection struct {
	// enabled: wait for the lease before working. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// id is the name of the Lease. Default manager.h2surge.io.
	ID string `json:"id,omitempty"`
}

// Metrics is the operator's own Prometheus endpoint.
type Metrics struct {
	// bindAddress is host:port, or "0" for none. Default :8443.
	BindAddress string `json:"bindAddress,omitempty"`
	// secure: HTTPS, and only for whom the API server's TokenReview and SubjectAccessReview
	// let in (get on the non-resource URL /metrics). Default true.
	Secure *bool `json:"secure,omitempty"`
	// keepFinished is how long the last values of a run stay after its end, also when its LoadTest
	// is deleted. Default 15m.
	KeepFinished metav1.Duration `json:"keepFinished,omitzero"`
	// maxFinished bounds how many ended runs there are values of; those that ended first go
	// first. Default 100.
	MaxFinished int `json:"maxFinished,omitempty"`
}

// Health has the endpoints /healthz and /readyz.
type Health struct {
	// bindAddress is host:port, or "0" for none. Default :8081.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Logging goes to standard error.
type Logging struct {
	// level is debug, info or error. Default info.
	Level string `json:"level,omitempty"`
	// format is json or text. Default json.
	Format string `json:"format,omitempty"`
}

// Runner says what runner pods are like and how they are watched.
type Runner struct {
	// image of the runner pods. Default: the environment variable H2SURGE_IMAGE, which the
	// deployment sets to the manager's own image.
	Image string `json:"image,omitempty"`
	// imagePullPolicy of the runner pods. Default IfNotPresent.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// resources of a runner whose LoadTest sets no cpusPerShard. Default: requests of 100m CPU
	// and 128Mi, no limits: a CPU quota would throttle the load generator.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// memoryPerCPU is requested, and the limit, for each CPU of a runner whose LoadTest sets
	// cpusPerShard. Default 512Mi.
	MemoryPerCPU string `json:"memoryPerCPU,omitempty"`
	// podTimeout is how long the pods of a run may take until all of them run: scheduling, new
	// nodes and image pulls are in it. Default 10m.
	PodTimeout metav1.Duration `json:"podTimeout,omitzero"`
	// readyTimeout is how long runners may take to get ready once all pods run. Default 2m.
	ReadyTimeout metav1.Duration `json:"readyTimeout,omitzero"`
	// startAttempts is how many Jobs are made in all for a run whose runners are lost before
	// it has started. Default 3.
	StartAttempts int `json:"startAttempts,omitempty"`
	// snapshotInterval is the time between two looks at a runner. Default 1s.
	SnapshotInterval metav1.Duration `json:"snapshotInterval,omitzero"`
	// controlTimeout bounds one call to a runner. Default 2s.
	ControlTimeout metav1.Duration `json:"controlTimeout,omitzero"`
	// unreachableTimeout is how long a runner whose pod seems to run may stay silent before it
	// counts as lost. Default 60s.
	UnreachableTimeout metav1.Duration `json:"unreachableTimeout,omitzero"`
	// startLead lies between the start message and the start, so that the message reaches
	// every runner in time. Default 750ms.
	StartLead metav1.Duration `json:"startLead,omitzero"`
}

// Report says how results are kept.
type Report struct {
	// maxBytes bounds the compressed report in its ConfigMap; details are dropped until it
	// fits. Default 921600, at most 1000000: a ConfigMap holds 1 MiB in all.
	MaxBytes int `json:"maxBytes,omitempty"`
	// podGrace is how long pods may take to end by themselves after the report was stored;
	// then their Job is deleted. Default 1m.
	PodGrace metav1.Duration `json:"podGrace,omitzero"`
}
