package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LoadTestCheckpoint has the last counts of one runner that the operator stored. It is internal: the operator
// writes and deletes it, and users need no permission for it. It belongs to a LoadTest and is deleted when the
// report of the LoadTest is stored.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=loadtestcheckpoints
// +kubebuilder:printcolumn:name="LoadTest",type=string,JSONPath=`.metadata.labels.h2surge\.io/loadtest`
// +kubebuilder:printcolumn:name="Shard",type=integer,JSONPath=`.checkpoint.shard`
// +kubebuilder:printcolumn:name="Sequence",type=integer,JSONPath=`.checkpoint.sequence`
// +kubebuilder:printcolumn:name="Final",type=boolean,JSONPath=`.checkpoint.final`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.checkpoint.time`
type LoadTestCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// checkpoint is the stored state of the runner.
	// +required
	Checkpoint Checkpoint `json:"checkpoint"`
}

// LoadTestCheckpointList is a list of checkpoints.
//
// +kubebuilder:object:root=true
type LoadTestCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadTestCheckpoint `json:"items"`
}

// Checkpoint is a snapshot of a runner as the operator stored it.
type Checkpoint struct {
	// shard is the number of the runner's shard.
	// +required
	Shard int32 `json:"shard"`
	// pod is the UID of the runner's pod.
	// +required
	Pod types.UID `json:"pod"`
	// boot identifies the runner's process.
	// +required
	Boot string `json:"boot"`
	// sequence is the sequence number of the snapshot. It grows with each snapshot of a boot.
	// +required
	Sequence int64 `json:"sequence"`
	// final is true if the runner sends no more requests, and the snapshot is the last one that the operator
	// received. The operator does not replace a final checkpoint.
	// +optional
	Final bool `json:"final,omitempty"`
	// time is when the operator received the snapshot.
	// +required
	Time metav1.Time `json:"time"`
	// dropped names the parts of the snapshot that the operator left out to stay below the size limit.
	// +optional
	// +listType=atomic
	Dropped []string `json:"dropped,omitempty"`
	// snapshot is the snapshot of the runner as JSON, compressed by gzip.
	// +required
	Snapshot []byte `json:"snapshot"`
}
