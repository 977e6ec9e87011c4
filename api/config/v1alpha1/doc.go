// Package v1alpha1 is the operator's configuration file: group config.h2surge.io, kind OperatorConfig. The operator
// reads it once, at start-up. An unknown key is an error and ends the program, so that a misspelt key does not leave
// a default active.
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
