package v1alpha1

// SBI are the header fields of the Service Based Interface of a 5G core (3GPP TS 29.500) that the runner adds to each
// request to a target. A request that has a header of the same name in its own headers keeps that one.
// With {} the runner sends 3gpp-Sbi-Max-Rsp-Time and 3gpp-Sbi-Sender-Timestamp, and follows 3gpp-Sbi-Binding.
// The report counts the responses with 3gpp-Sbi-Oci and 3gpp-Sbi-Lci.
type SBI struct {
	// messagePriority is 3gpp-Sbi-Message-Priority (TS 29.500 5.2.3.2.2). 0 is the highest priority.
	// It is 0 to 31. Default: the runner does not send it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31
	MessagePriority *int32 `json:"messagePriority,omitempty"`
	// maxRspTime is Send or Omit. With Send the runner sends 3gpp-Sbi-Max-Rsp-Time, the timeout of the request in
	// milliseconds (TS 29.500 5.2.3.3.3), at most 99999.
	// Default: Send.
	// +optional
	// +kubebuilder:default=Send
	// +kubebuilder:validation:Enum=Send;Omit
	MaxRspTime HeaderPresence `json:"maxRspTime,omitempty"`
	// senderTimestamp is Send or Omit. With Send the runner sends 3gpp-Sbi-Sender-Timestamp, the time at which the
	// request was made, in UTC with milliseconds (TS 29.500 5.2.3.3.2).
	// Default: Send.
	// +optional
	// +kubebuilder:default=Send
	// +kubebuilder:validation:Enum=Send;Omit
	SenderTimestamp HeaderPresence `json:"senderTimestamp,omitempty"`
	// binding is Follow or Ignore. With Follow a chain instance stores the 3gpp-Sbi-Binding of the last response of the
	// target that had one, and sends it as 3gpp-Sbi-Routing-Binding in its later requests to this target (TS 29.500
	// 5.2.3.2.5, 5.2.3.2.6). Requests of a parallel group do not read each other's responses.
	// Default: Follow.
	// +optional
	// +kubebuilder:default=Follow
	// +kubebuilder:validation:Enum=Follow;Ignore
	Binding BindingUse `json:"binding,omitempty"`
	// correlationInfo is 3gpp-Sbi-Correlation-Info (TS 29.500 5.2.3.3.4), such as imsi-${ue}. It may have placeholders.
	// If it is empty after they are filled, the runner does not send it.
	// It has at most 1024 characters. Default: the runner does not send it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CorrelationInfo string `json:"correlationInfo,omitempty"`
	// targetAPIRoot is 3gpp-Sbi-Target-apiRoot (TS 29.500 5.2.3.2.4): the apiRoot of the network function that an SCP or
	// SEPP forwards the request to (communication models C and D). The url of the target is then that of the SCP. It
	// begins with http:// or https://. It may have placeholders, such as a capture of a discovery response. If it is empty
	// after they are filled, the runner does not send it.
	// It has at most 2048 characters. Default: the runner does not send it.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	TargetAPIRoot string `json:"targetAPIRoot,omitempty"`
	// callback is 3gpp-Sbi-Callback (TS 29.500 5.2.3.2.3): the type of the notifications that the requests to this target
	// are, such as Nnrf_NFManagement_NFStatusNotify.
	// It has at most 256 characters. Default: the runner does not send it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Callback string `json:"callback,omitempty"`
	// discovery are the parameters by which an SCP discovers the network function to forward the request to
	// (communication model D). Each of them is a header 3gpp-Sbi-Discovery-NAME (TS 29.500 5.2.3.2.7).
	// It has at most 32 parameters. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Discovery []DiscoveryParameter `json:"discovery,omitempty"`
}

// DiscoveryParameter is a parameter of a delegated discovery.
type DiscoveryParameter struct {
	// name is the name of a query parameter of Nnrf_NFDiscovery, such as target-nf-type or service-names. The runner puts
	// 3gpp-Sbi-Discovery- before it.
	// It has 1 to 100 lower-case letters, digits and -.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// value is the value of the header. It may have placeholders.
	// If it is empty after they are filled, the runner does not send the header.
	// It has 1 to 1024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// HeaderPresence is whether the runner sends a header.
type HeaderPresence string

const (
	// HeaderSend sends the header.
	HeaderSend HeaderPresence = "Send"
	// HeaderOmit does not send the header.
	HeaderOmit HeaderPresence = "Omit"
)

// BindingUse is what chain instances do with the binding of a response.
type BindingUse string

const (
	// BindingFollow sends it in later requests.
	BindingFollow BindingUse = "Follow"
	// BindingIgnore does not store it.
	BindingIgnore BindingUse = "Ignore"
)
