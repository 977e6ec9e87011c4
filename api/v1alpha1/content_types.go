package v1alpha1

// ContentSource says where a text or a file is that the manifest does not hold itself. Exactly one
// of configMap, secret and file is needed. What it holds is put into the runner pods by the
// kubelet; the operator does not read it.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.file)].filter(x, x).size() == 1",message="exactly one of configMap, secret and file is needed"
type ContentSource struct {
	// configMap is a key of a ConfigMap.
	// +optional
	ConfigMap *KeyReference `json:"configMap,omitempty"`
	// secret is a key of a Secret; nothing else of it is mounted.
	// +optional
	Secret *KeyReference `json:"secret,omitempty"`
	// file is a path where the runner runs: in its container, which needs a volume by
	// runner.podTemplate then, or on the machine of the command line. At most 4096 characters. This
	// is the way for what is larger than a ConfigMap may be (1 MiB).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// KeyReference is a key of a ConfigMap or a Secret in the LoadTest's namespace. Both must exist
// before the runner pods can start.
type KeyReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// key in its data: letters, digits, -, _ and dots, of which it must not begin with two.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\.?[-_A-Za-z0-9][-._A-Za-z0-9]*)$`
	Key string `json:"key"`
}
