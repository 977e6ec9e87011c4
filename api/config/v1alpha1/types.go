package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// OperatorConfig configures the operator. Every field has a default, so an empty document of this kind is complete.
//
// +kubebuilder:object:root=true
type OperatorConfig struct {
	metav1.TypeMeta `json:",inline"`

	// namespaces are the namespaces whose LoadTests the operator runs. If the operator starts without permission in one
	// of them, it runs those of the others, and restarts when it has the permission. If it has permission in none of
	// them, it exits. Default: all namespaces.
	Namespaces []string `json:"namespaces,omitempty"`
	// operatorNamespace is the namespace of the installation's CA and of the leader election lease. Default: the
	// environment variable POD_NAMESPACE, else h2surge-system.
	OperatorNamespace string `json:"operatorNamespace,omitempty"`
	// maxConcurrentReconciles is how many LoadTests the operator reconciles at the same time. It does not limit how
	// many tests run at the same time. Default 4.
	MaxConcurrentReconciles int `json:"maxConcurrentReconciles,omitempty"`

	LeaderElection LeaderElection `json:"leaderElection,omitzero"`
	Metrics        Metrics        `json:"metrics,omitzero"`
	Health         Health         `json:"health,omitzero"`
	Logging        Logging        `json:"logging,omitzero"`
	Runner         Runner         `json:"runner,omitzero"`
	Report         Report         `json:"report,omitzero"`
	Checkpoint     Checkpoint     `json:"checkpoint,omitzero"`
	Limits         Limits         `json:"limits,omitzero"`
	Targets        TargetPolicy   `json:"targets,omitzero"`
	// resultStorage is where the operator uploads reports. Default: nowhere.
	ResultStorage *ResultStorage `json:"resultStorage,omitempty"`
}

// Limits are maximum values for each LoadTest. The operator does not start a LoadTest above a limit: condition
// PlanReady is False with reason DeniedByPolicy. It does not apply a change of a running test above a limit either.
type Limits struct {
	// requestsPerSecond is the maximum rate: the highest rate of spec.rates plus the highest rate of each chain with
	// rates of its own. A chain instance counts with all its steps. All runners of a LoadTest together send at most this
	// number of requests per second, and those of one second more after a pause. A request that is due above it, such as a
	// retry, is dropped. One that has no scheduled time waits: in a closedLoop stage, and in setup and teardown. The
	// report counts both. Default 0: no limit.
	RequestsPerSecond int64 `json:"requestsPerSecond,omitempty"`
	// shards is the maximum of spec.runner.shards. Default 0: no limit.
	Shards int32 `json:"shards,omitempty"`
	// duration is the maximum length of the stages. It does not apply if spec.activeDeadlineSeconds is at most as
	// long. A LoadTest whose stages end by requests needs such a deadline. Default 0: no limit.
	Duration metav1.Duration `json:"duration,omitzero"`
	// connections is the maximum number of connections to all targets together. Those to authorities that responses
	// name (followAuthority) do not count. Default 0: no limit.
	Connections int `json:"connections,omitempty"`
}

// TargetPolicy decides which addresses a LoadTest can send requests to. It guards against mistakes. A NetworkPolicy is
// the security boundary, because a user can change what runs in a pod. The operator checks the targets of the spec, and
// the runner checks each address that it connects to, after it resolved the name.
type TargetPolicy struct {
	// allowed are the only addresses that runners connect to. An address is allowed if its host name or its IP address
	// matches a rule. Default: all addresses.
	Allowed []AddressRule `json:"allowed,omitempty"`
	// denied are addresses that runners do not connect to, also if allowed contains them.
	Denied []AddressRule `json:"denied,omitempty"`
	// deniedByDefault are the built-in rules that apply in addition to denied: APIServer (the API server),
	// Metadata (link-local addresses and metadata servers of cloud providers) and Nodes (addresses of nodes, as the
	// operator sees them when it compiles a LoadTest, if it has permission to list nodes). Default: all of them. An
	// empty list switches them off.
	DeniedByDefault []string `json:"deniedByDefault"`
}

// AddressRule matches addresses. It needs at least one host or CIDR.
type AddressRule struct {
	// name is the name of the rule in conditions and events.
	Name string `json:"name"`
	// hosts are patterns of host names and IP addresses, as in URLs. "*" matches any characters, dots included. Case
	// does not matter.
	Hosts []string `json:"hosts,omitempty"`
	// cidrs are ranges of IP addresses, such as 10.0.0.0/8.
	CIDRs []string `json:"cidrs,omitempty"`
}

// Built-in rules of TargetPolicy.deniedByDefault.
const (
	DeniedAPIServer = "APIServer"
	DeniedMetadata  = "Metadata"
	DeniedNodes     = "Nodes"
)

// LeaderElection lets one replica of the operator work while the others wait.
type LeaderElection struct {
	// enabled makes the operator wait for the lease before it works. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// id is the name of the Lease. Default manager.h2surge.io.
	ID string `json:"id,omitempty"`
}

// Metrics configures the operator's Prometheus endpoint.
type Metrics struct {
	// bindAddress is host:port; "0" switches the endpoint off. Default :8443.
	BindAddress string `json:"bindAddress,omitempty"`
	// secure serves metrics over HTTPS, and only to clients that the API server authenticates (TokenReview) and
	// authorizes (SubjectAccessReview: get on the non-resource URL /metrics). Default true.
	Secure *bool `json:"secure,omitempty"`
	// certDir is the directory with the files tls.crt and tls.key of the HTTPS server. The operator reads them again after
	// a change. Default: the operator creates a self-signed certificate at each start.
	CertDir string `json:"certDir,omitempty"`
	// keepFinished is how long the operator serves the last values of a run after its end, also if the LoadTest is
	// deleted. Default 15m.
	KeepFinished metav1.Duration `json:"keepFinished,omitzero"`
	// maxFinished is how many ended runs the operator serves values of. It removes the oldest run first. Default 100.
	MaxFinished int `json:"maxFinished,omitempty"`
}

// Health configures the endpoints /healthz and /readyz.
type Health struct {
	// bindAddress is host:port; "0" switches the endpoints off. Default :8081.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Logging configures the log, which the operator writes to standard error.
type Logging struct {
	// level is debug, info or error. Default info.
	Level string `json:"level,omitempty"`
	// format is json or text. Default json.
	Format string `json:"format,omitempty"`
}

// Runner configures runner pods and how the operator watches them.
type Runner struct {
	// image is the image of the runner pods. Default: the environment variable H2SURGE_IMAGE, which the deployment
	// sets to the manager's own image.
	Image string `json:"image,omitempty"`
	// imagePullPolicy is the pull policy of the runner pods. Default IfNotPresent.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// resources are the resources of a runner whose LoadTest sets neither runner.cpusPerShard nor
	// runner.resources. Default: requests of 100m CPU and 128Mi. The default has no limits, because a CPU quota would
	// throttle the load generator.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// memoryPerCPU is the memory request and limit for each CPU of a runner whose LoadTest sets cpusPerShard. Default
	// 512Mi.
	MemoryPerCPU string `json:"memoryPerCPU,omitempty"`
	// inheritLabels names the labels of a LoadTest that the operator copies to the runners' Job and
	// its pods, for queues and cost reports. A name that ends in "/" stands for all labels with that
	// prefix. Labels of the operator and of runner.podTemplate win. Default:
	// kueue.x-k8s.io/queue-name, kueue.x-k8s.io/priority-class, cost-center, department, environment,
	// owner, project and team. An empty list copies none.
	InheritLabels []string `json:"inheritLabels"`
	// inheritAnnotations names the annotations of a LoadTest that the operator copies to the runners'
	// Job and its pods, in the form of inheritLabels. Default:
	// kueue.x-k8s.io/podset-required-topology and kueue.x-k8s.io/podset-preferred-topology. An empty
	// list copies none.
	InheritAnnotations []string `json:"inheritAnnotations"`
	// podTimeout is how long the pods of a run can take until all of them run. It includes scheduling, new nodes and
	// image pulls. Default 10m.
	PodTimeout metav1.Duration `json:"podTimeout,omitzero"`
	// readyTimeout is how long runners can take to become ready after all pods run. Default 2m.
	ReadyTimeout metav1.Duration `json:"readyTimeout,omitzero"`
	// startAttempts is how many Jobs the operator creates for a run if runners are lost before the run starts.
	// Default 3.
	StartAttempts int `json:"startAttempts,omitempty"`
	// snapshotInterval is the interval at which the operator reads the counts of a runner. Default 1s.
	SnapshotInterval metav1.Duration `json:"snapshotInterval,omitzero"`
	// controlTimeout is the timeout of a call to a runner. Default 2s.
	ControlTimeout metav1.Duration `json:"controlTimeout,omitzero"`
	// unreachableTimeout is how long a runner can be unreachable before it counts as lost, although its pod seems to
	// run. Default 60s.
	UnreachableTimeout metav1.Duration `json:"unreachableTimeout,omitzero"`
	// startLead is the time between the start message and the start of the load, so that the message reaches all
	// runners in time. Default 750ms.
	StartLead metav1.Duration `json:"startLead,omitzero"`
	// ttlAfterFinished is how long the operator keeps the Job and the pods of a test after its end, so that users can
	// read their logs. Default 1h. 0 deletes them when all pods have ended. Pods that do not end have report.podGrace
	// instead.
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`
	// podTemplate is merged over the operator's own pod template, and runner.podTemplate of a LoadTest over both. Default:
	// nothing.
	PodTemplate *runtime.RawExtension `json:"podTemplate,omitempty"`
	// deniedPodFields are paths in runner.podTemplate that no LoadTest can set, without indices of lists: for example
	// spec.hostNetwork, spec.volumes.hostPath or spec.containers.securityContext.privileged. A path includes all
	// fields below it. Default: none.
	DeniedPodFields []string `json:"deniedPodFields,omitempty"`
}

// Report configures how the operator keeps results.
type Report struct {
	// maxBytes is the maximum size of the compressed report in its ConfigMap. The operator drops details until the
	// report fits. Default 921600, at most 1000000, because a ConfigMap can hold 1 MiB.
	MaxBytes int `json:"maxBytes,omitempty"`
	// podGrace is how long the operator waits for pods to end after it stored the report. Then it deletes their Job.
	// Default 1m.
	PodGrace metav1.Duration `json:"podGrace,omitzero"`
}

// Checkpoint configures how the operator stores the counts of running shards. If a runner and the operator end
// together, the counts since the last checkpoint of the runner are lost.
type Checkpoint struct {
	// bytesPerSecond is how many bytes of checkpoints the operator writes to the API server per second, for all tests
	// together. The time between two checkpoints of a runner follows from it: it is the size of the checkpoints of all
	// running shards divided by bytesPerSecond, and at least 5 seconds. A checkpoint has at most 88 KiB, and about 4 KiB
	// if the plan has few steps. Default 102400, at least 1024.
	BytesPerSecond int `json:"bytesPerSecond,omitempty"`
}

// ResultStorage is an S3-compatible object storage for the reports of tests that ended. The operator's process gets its
// credentials as the AWS tools do: from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, from the file that
// AWS_SHARED_CREDENTIALS_FILE names, from a web identity token (IRSA), or from the metadata service of the machine. No
// runner gets them.
type ResultStorage struct {
	// endpoint is the URL of the storage's API, such as https://s3.eu-central-1.amazonaws.com. It has no path. Required.
	Endpoint string `json:"endpoint"`
	// bucket is the name of an existing bucket. Required.
	Bucket string `json:"bucket"`
	// region is the region of the bucket. Default: the operator asks the storage.
	Region string `json:"region,omitempty"`
	// path is the folder of a run in the bucket. The operator uploads report.html, report.csv and report.json into it.
	// Placeholders: ${namespace}, ${name} and ${uid} of the LoadTest, and ${startTime}, which has the form
	// 20060102T150405Z; for a test that did not start it is the time of its end. The path must have ${uid}, or
	// ${namespace}, ${name} and ${startTime} with a character between ${namespace} and ${name} that they cannot have, such
	// as /, so that two runs have different paths. Default: ${namespace}/${name}/${uid}.
	Path string `json:"path,omitempty"`
	// timeout is the timeout of one upload of a report with its three files. Default 30s.
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// deadline is how long after the first failed upload of a report the operator repeats it. The TTL of a LoadTest
	// deletes it only after the upload or the deadline. Default 1h.
	Deadline metav1.Duration `json:"deadline,omitzero"`
}
