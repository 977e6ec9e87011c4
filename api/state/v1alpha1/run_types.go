package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// LoadTestRun is the operator's record of one run. It is internal: only the operator reads and writes it, users need
// no permission for it, and it is deleted with its LoadTest.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=loadtestruns
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.record.state`
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.record.attempt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LoadTestRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// record is what the operator must not decide twice. The field version says how to read it.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Record runtime.RawExtension `json:"record"`
}

// LoadTestRunList is a list of records.
//
// +kubebuilder:object:root=true
type LoadTestRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadTestRun `json:"items"`
}
