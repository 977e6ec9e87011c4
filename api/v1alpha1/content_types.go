package v1alpha1

// ContentSource is where a value is that the manifest does not hold. It has exactly one field. The kubelet puts the
// value into the runner pods, and the operator does not read it.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ContentSource struct {
	// configMapKeyRef is a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is a key of a Secret. The kubelet mounts no other key of it.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// file is a path where the runner runs, at most 4096 characters: in its container, where it needs a volume by
	// runner.podTemplate, or on the machine of the command line. Content above 1 MiB, the limit of a ConfigMap, needs
	// a file.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// ValueFrom is where a value is that the manifest does not hold. It has exactly one field. It is ContentSource with
// fieldRef, for values that may differ from pod to pod.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ValueFrom struct {
	// configMapKeyRef is a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is a key of a Secret. The kubelet mounts no other key of it.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// fieldRef is a field of the runner pod. The command line refuses it, because it has no pod.
	// +optional
	FieldRef *FieldReference `json:"fieldRef,omitempty"`
	// file is a path where the runner runs, at most 4096 characters: in its container, where it needs a volume by
	// runner.podTemplate, or on the machine of the command line.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// FieldReference is a field of the runner pod.
type FieldReference struct {
	// fieldPath is the field: metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'],
	// metadata.annotations['KEY'], spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs,
	// status.podIP or status.podIPs. It has at most 400 characters. A label or an annotation that the pod does not
	// have is an empty value.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=400
	// +kubebuilder:validation:Pattern=`^(metadata\.(name|namespace|uid|(labels|annotations)\['[-./_A-Za-z0-9]+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$`
	FieldPath string `json:"fieldPath"`
}

// KeyReference is a key of a ConfigMap or a Secret in the LoadTest's namespace. The runner pods cannot start before
// the object and the key exist.
type KeyReference struct {
	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// key is the key in the object's data: letters, digits, -, _ and dots. It must not begin with two dots.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\.?[-_A-Za-z0-9][-._A-Za-z0-9]*)$`
	Key string `json:"key"`
}
