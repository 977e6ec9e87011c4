package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LoadTestLock has the LoadTest that holds a lock of its namespace (spec.lock). Its name is the name of the lock. It is
// internal: the operator creates, updates and deletes it, and users need no permission for it. The lock is free when
// its holder has finished, or was deleted, and the holder's pods have ended. The operator deletes a free lock that no
// LoadTest names.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=loadtestlocks
// +kubebuilder:printcolumn:name="Holder",type=string,JSONPath=`.holder.name`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.holder.time`
type LoadTestLock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// holder is the LoadTest that got the lock last.
	// +required
	Holder LockHolder `json:"holder"`
	// waiting has the names of the LoadTests that wait for the lock, in the order in which they get it. Of more than 1000,
	// it has the first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	Waiting []string `json:"waiting,omitempty"`
}

// LoadTestLockList is a list of locks.
//
// +kubebuilder:object:root=true
type LoadTestLockList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadTestLock `json:"items"`
}

// LockHolder is a LoadTest that got a lock.
type LockHolder struct {
	// name is the name of the LoadTest.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// uid is the UID of the LoadTest.
	// +required
	UID types.UID `json:"uid"`
	// time is when the LoadTest got the lock.
	// +required
	Time metav1.MicroTime `json:"time"`
	// released is true if the LoadTest must not start any more, because the lock is passed on. Its runners can still
	// exist.
	// +optional
	Released bool `json:"released,omitempty"`
	// left is a Job or a pod of the LoadTest that has not ended: "Job pcf-1". Empty: the LoadTest keeps the lock for
	// itself, or nothing is left.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	Left string `json:"left,omitempty"`
}
