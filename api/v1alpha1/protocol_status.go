package v1alpha1

// FoundProtocol is the protocol that runners found at an http:// URL.
type FoundProtocol struct {
	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target"`
	// url is the URL. If it has placeholders, url is its scheme and authority with their values. A longer URL is cut after
	// 512 characters.
	// +required
	// +kubebuilder:validation:MaxLength=512
	URL string `json:"url"`
	// protocol is http1 or h2c.
	// +required
	// +kubebuilder:validation:MaxLength=16
	Protocol string `json:"protocol"`
}
