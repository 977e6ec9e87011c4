package v1alpha1

// ContentSource is the source of a value that is not in the manifest. Set exactly one field. The kubelet
// mounts the value into the runner pods; the operator does not read it.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ContentSource struct {
	// configMapKeyRef is the key of a ConfigMap that contains the value.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is the key of a Secret that contains the value. The kubelet mounts no other key of the Secret.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// file is the path of the value. In a cluster it is a path in the container of the runner, on a volume of
	// runner.podTemplate. On the command line it is a path on the machine. A value above 1 MiB, the limit of a
	// ConfigMap, needs a file. Bounds: at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// ValueFrom is the source of a value that is not in the manifest. Set exactly one field. With fieldRef the
// value can differ from pod to pod.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ValueFrom struct {
	// configMapKeyRef is the key of a ConfigMap that contains the value.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is the key of a Secret that contains the value. The kubelet mounts no other key of the Secret.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// fieldRef is a field of the runner pod. The command line refuses fieldRef, because it has no pod.
	// +optional
	FieldRef *FieldReference `json:"fieldRef,omitempty"`
	// file is the path of the value. In a cluster it is a path in the container of the runner, on a volume of
	// runner.podTemplate. On the command line it is a path on the machine. Bounds: at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// FieldReference is a field of the runner pod.
type FieldReference struct {
	// fieldPath is the path of the field. Allowed: metadata.name, metadata.namespace, metadata.uid,
	// metadata.labels['KEY'], metadata.annotations['KEY'], spec.nodeName, spec.serviceAccountName, status.hostIP,
	// status.hostIPs, status.podIP and status.podIPs. If the pod does not have the label or annotation, the value
	// is empty. Bounds: at most 400 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=400
	// +kubebuilder:validation:Pattern=`^(metadata\.(name|namespace|uid|(labels|annotations)\['[-./_A-Za-z0-9]+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$`
	FieldPath string `json:"fieldPath"`
}

// KeyReference is a key of a ConfigMap or a Secret in the namespace of the LoadTest. The object and the key
// must exist before the runner pods can start.
type KeyReference struct {
	// name is the name of the object. Bounds: at most 253 lower-case letters, digits, - and dots.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// key is the key in the data of the object. Bounds: at most 253 letters, digits, -, _ and dots. The key must
	// not start with two dots.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\.?[-_A-Za-z0-9][-._A-Za-z0-9]*)$`
	Key string `json:"key"`
}
