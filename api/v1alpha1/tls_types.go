package v1alpha1

// TLS controls how the runner secures connections to a target.
//
// Keys and certificates are references, so a user who can read the LoadTest cannot read them. The kubelet
// mounts them into the runner pods; the operator does not read them. The objects must be in the namespace of
// the LoadTest, and must exist before the pods can start.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minVersion) || !has(self.maxVersion) || self.minVersion <= self.maxVersion",message="minVersion must not be above maxVersion"
// +kubebuilder:validation:XValidation:rule="!has(self.cipherSuites) || self.cipherSuites.size() == 0 || !has(self.minVersion) || self.minVersion == '1.2'",message="cipherSuites need minVersion 1.2, because TLS 1.3 has fixed cipher suites"
type TLS struct {
	// serverName is the name that the certificate of the target must have. The runner also sends the name as SNI
	// (RFC 6066 3), unless it is an IP address. Default: the host of the url, also with connectTo. Bounds: at most
	// 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// insecureSkipVerify accepts any certificate for any name. Another server between the runner and the target
	// could then answer in place of the target. Default: false.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// caFrom is the source of the certificate authorities that the runner trusts. They replace those of the system. The
	// runner reads them once, when it starts.
	// Default: the authorities of the system; the image of the runner contains the public ones that Mozilla
	// trusted when the image was built.
	// +optional
	CAFrom *ContentSource `json:"caFrom,omitempty"`
	// certificate is the source of the client certificate that the runner sends if the target requests one (mutual
	// TLS). New connections use a changed one within a minute after its files have changed. Default: the runner has no
	// client certificate.
	// +optional
	Certificate *ClientCertificate `json:"certificate,omitempty"`
	// certificateDirectory is a directory of client certificates. It has pairs of a certificate NAME.crt and its key
	// NAME.key. Connection k of the test uses pair k modulo the number of pairs, in the order of their names, so that one
	// test is many clients. Changed pairs are used as with certificate, added pairs are not. In a cluster it is a path
	// in the container of the runner, such as that of a Secret on a volume of runner.podTemplate. It cannot be used
	// with certificate. Default: none. Bounds: at most 10000 pairs.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	CertificateDirectory string `json:"certificateDirectory,omitempty"`
	// minVersion is the lowest TLS version that the runner accepts. Allowed: "1.2" and "1.3". Default: "1.2".
	// Older versions are deprecated (RFC 8996).
	// +optional
	// +kubebuilder:default="1.2"
	MinVersion TLSVersion `json:"minVersion,omitempty"`
	// maxVersion is the highest TLS version that the runner offers. Allowed: "1.2" and "1.3". Default: "1.3".
	// maxVersion must not be below minVersion.
	// +optional
	// +kubebuilder:default="1.3"
	MaxVersion TLSVersion `json:"maxVersion,omitempty"`
	// cipherSuites are the IANA names of the cipher suites that the runner offers for TLS 1.2, such as
	// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256. The order has no effect: Go determines the preference. You cannot
	// choose the suites of TLS 1.3. Default: Go's choice. Bounds: at most 32 entries.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^TLS_[A-Z0-9_]+$`
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// curves are the groups that the runner offers for the key exchange: X25519MLKEM768, X25519, P-256,
	// P-384 and P-521. The order has no effect: Go determines the preference.
	// Default: Go's choice. Bounds: at most 8 entries.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=X25519MLKEM768;X25519;P-256;P-384;P-521
	Curves []string `json:"curves,omitempty"`
	// alpn are the protocols that the runner offers (RFC 7301), in order of preference: h2, http/1.1 or both. alpn
	// needs protocol Auto; h2 and http1 offer one protocol each. Default: h2, then http/1.1.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=h2;http/1.1
	ALPN []string `json:"alpn,omitempty"`
	// sessionResumption offers the TLS session of an earlier connection, which avoids most of a handshake (RFC
	// 8446 2.2). Default: false; each connection makes a full handshake, as the first connection of each user
	// does.
	// +optional
	SessionResumption bool `json:"sessionResumption,omitempty"`
	// earlyData is which requests the runner sends over HTTP/3 before the handshake of a resumed session is complete
	// (0-RTT, RFC 9001 4.6). Allowed: None; SafeMethods, which is GET, HEAD, OPTIONS and TRACE; and All. An attacker can
	// make the server process early data again (RFC 8470), so All is for a service whose other requests may be repeated,
	// too. If the server rejects early data, the runner sends the requests again after the handshake and counts them once.
	// Status 425 counts as any other response. SafeMethods and All need protocol h3 and sessionResumption. Default: None.
	// +optional
	EarlyData EarlyData `json:"earlyData,omitempty"`
}

// EarlyData is which requests the runner sends as early data.
//
// +kubebuilder:validation:Enum=None;SafeMethods;All
type EarlyData string

const (
	// EarlyDataNone sends no request as early data.
	EarlyDataNone EarlyData = "None"
	// EarlyDataSafeMethods is requests with safe methods (RFC 9110 9.2.1).
	EarlyDataSafeMethods EarlyData = "SafeMethods"
	// EarlyDataAll is all requests.
	EarlyDataAll EarlyData = "All"
)

// TLSVersion is a TLS version.
//
// +kubebuilder:validation:Enum="1.2";"1.3"
type TLSVersion string

const (
	// TLS12 is RFC 5246.
	TLS12 TLSVersion = "1.2"
	// TLS13 is RFC 8446.
	TLS13 TLSVersion = "1.3"
)

// ClientCertificate is the source of a certificate, of a client or of a listener, and its private key. Set exactly one
// field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ClientCertificate struct {
	// secretRef is a Secret of type kubernetes.io/tls. Its key tls.crt contains the certificate, followed by the
	// intermediate certificates. Its key tls.key contains the private key.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// files are the paths of the certificate and the private key. In a cluster they are paths in the container of
	// the runner; on the command line they are paths on the machine.
	// +optional
	Files *CertificateFiles `json:"files,omitempty"`
}

// SecretReference is a Secret in the namespace of the LoadTest.
type SecretReference struct {
	// name is the name of the Secret. Bounds: at most 253 lower-case letters, digits, - and dots.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// CertificateFiles are the paths of a certificate and its private key, both in PEM.
type CertificateFiles struct {
	// certificate is the path of the certificate, followed in the file by the intermediate certificates. Bounds:
	// at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Certificate string `json:"certificate"`
	// key is the path of the private key. The key must not be encrypted. Bounds: at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Key string `json:"key"`
}
