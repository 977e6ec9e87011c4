// Package v1alpha1 is the LoadTest API, group h2surge.io.
//
// +kubebuilder:object:generate=true
// +groupName=h2surge.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "h2surge.io", Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add this package's kinds to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's kinds to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &LoadTest{}, &LoadTestList{}, &LoadTestSchedule{}, &LoadTestScheduleList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
