// Package v1alpha1 is the operator's own configuration file: group config.h2surge.io, kind
// OperatorConfig. It is read once at start-up, strictly: a key that nobody reads is a mistake
// and ends the program, instead of leaving a default in force that its author believes replaced.
//
// +kubebuilder:object:generate=true
// +groupName=config.h2surge.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of OperatorConfig.
var GroupVersion = schema.GroupVersion{Group: "config.h2surge.io", Version: "v1alpha1"}

// Kind is the only kind of this group.
const Kind = "OperatorConfig"

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &OperatorConfig{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
