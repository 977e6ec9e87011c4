// Package v1alpha1 has the kinds in which the operator stores the state of runs, group internal.h2surge.io: the record
// of a run, the last counts of its runners, and the locks of a namespace. Only the operator writes them. The group has
// versions of its own, so that a new version of the LoadTest API needs no conversion of these objects.
//
// +kubebuilder:object:generate=true
// +groupName=internal.h2surge.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "internal.h2surge.io", Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add this package's kinds to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's kinds to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &LoadTestRun{}, &LoadTestRunList{}, &LoadTestCheckpoint{}, &LoadTestCheckpointList{},
		&LoadTestLock{}, &LoadTestLockList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
