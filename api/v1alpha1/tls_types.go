package v1alpha1

// TLS is how the connections to a target are secured.
//
// A LoadTest contains no secrets: it names keys and certificates. The kubelet puts them into the runner pods; the
// operator does not read them. They must be in the LoadTest's namespace and be there when the pods start.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minVersion) || !has(self.maxVersion) || self.minVersion <= self.maxVersion",message="minVersion must not be above maxVersion"
// +kubebuilder:validation:XValidation:rule="!has(self.cipherSuites) || self.cipherSuites.size() == 0 || !has(self.minVersion) || self.minVersion == '1.2'",message="cipherSuites are those of TLS 1.2, which minVersion 1.3 excludes"
type TLS struct {
	// serverName is the name that the peer's certificate must have. Runners send it as SNI (RFC 6066 3) unless it is
	// an IP address; at most 253 characters. Default: the host of the url, also when connectTo dials another one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// insecureSkipVerify accepts any certificate for any name, so an attacker between the runner and the target could
	// answer instead of the target. Default false.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// ca are the certificates of the authorities to trust, in place of the system's. Default: the
	// system's; the image of the runner has the public ones that Mozilla trusts, as of its build.
	// +optional
	CA *CertificateAuthority `json:"ca,omitempty"`
	// certificate is what the runners show when the peer asks for a client certificate (mutual
	// TLS). Default: none.
	// +optional
	Certificate *ClientCertificate `json:"certificate,omitempty"`
	// minVersion is the lowest version that is accepted, 1.2 or 1.3. Default 1.2: the older ones
	// are deprecated (RFC 8996).
	// +optional
	// +kubebuilder:default="1.2"
	MinVersion TLSVersion `json:"minVersion,omitempty"`
	// maxVersion is the highest version that is offered, 1.2 or 1.3. Default 1.3.
	// +optional
	// +kubebuilder:default="1.3"
	MaxVersion TLSVersion `json:"maxVersion,omitempty"`
	// cipherSuites are the suites that are offered for TLS 1.2, by their IANA names such as
	// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, up to 32 of them. Go's order is used, not the
	// list's. Those of TLS 1.3 cannot be chosen. Default: Go's choice.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^TLS_[A-Z0-9_]+$`
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// curves are the groups for the key exchange that are offered: X25519MLKEM768, X25519,
	// secp256r1 (or P-256), secp384r1 (or P-384), secp521r1 (or P-521). Go's order is used, not
	// the list's. Default: Go's choice.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=X25519MLKEM768;X25519;secp256r1;secp384r1;secp521r1;P-256;P-384;P-521
	Curves []string `json:"curves,omitempty"`
	// alpn are the protocols that are offered (RFC 7301), the most wanted first: h2, http/1.1 or
	// both. It goes with protocol Auto only; the others offer what they speak. Default: h2, then
	// http/1.1.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=h2;http/1.1
	ALPN []string `json:"alpn,omitempty"`
	// sessionResumption offers the session of an earlier connection, which spares both sides the
	// most of a handshake (RFC 8446 2.2). Default false: each connection costs the target a whole
	// handshake, as the first one of each of its users does.
	// +optional
	SessionResumption bool `json:"sessionResumption,omitempty"`
}

// TLSVersion is a version of TLS.
//
// +kubebuilder:validation:Enum="1.2";"1.3"
type TLSVersion string

const (
	// TLS12 is RFC 5246.
	TLS12 TLSVersion = "1.2"
	// TLS13 is RFC 8446.
	TLS13 TLSVersion = "1.3"
)

// CertificateAuthority is where the certificates to trust are, in PEM, one after another. It has exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type CertificateAuthority struct {
	// configMapKeyRef holds them under a key.
	// +optional
	ConfigMapKeyRef *KeySelector `json:"configMapKeyRef,omitempty"`
	// secretKeyRef holds them under a key; nothing else of it is mounted.
	// +optional
	SecretKeyRef *KeySelector `json:"secretKeyRef,omitempty"`
	// file is their path where the runner runs: in its container, which needs a volume by
	// runner.podTemplate then, or on the machine of the command line. At most 4096 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// KeySelector is a key of a ConfigMap or a Secret in the LoadTest's namespace. Both must exist
// before the runner pods can start.
type KeySelector struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// key in its data: letters, digits, -, _ and dots, of which it must not begin with two.
	// Default ca.crt, which is where cert-manager and Kubernetes itself put certificates of
	// authorities.
	// +optional
	// +kubebuilder:default="ca.crt"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\.?[-_A-Za-z0-9][-._A-Za-z0-9]*)$`
	Key string `json:"key,omitempty"`
}

// ClientCertificate is where the runners' certificate and its key are. It has exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ClientCertificate struct {
	// secretRef is a Secret of type kubernetes.io/tls: tls.crt is the certificate and the chain above it,
	// tls.key its private key.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// files are paths where the runner runs, as in ca.file.
	// +optional
	Files *CertificateFiles `json:"files,omitempty"`
}

// SecretReference is a Secret in the LoadTest's namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// CertificateFiles are a certificate and its key, each PEM.
type CertificateFiles struct {
	// certificate is the path of the certificate and the chain above it, at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Certificate string `json:"certificate"`
	// key is the path of the private key, not encrypted, at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Key string `json:"key"`
}
