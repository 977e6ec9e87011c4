package v1alpha1

// Auth is the source of the authorization header of requests (RFC 9110 11.6.2). Set exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Auth struct {
	// basic is a user name and a password (RFC 7617).
	// +optional
	Basic *BasicAuth `json:"basic,omitempty"`
	// bearer is a token (RFC 6750).
	// +optional
	Bearer *BearerAuth `json:"bearer,omitempty"`
	// oauth2 gets tokens with the client credentials grant (RFC 6749 4.4). The runner gets a token before the test
	// starts, and a new one before the token expires. The NRF of a 5G core grants tokens this way (3GPP TS 33.501
	// 13.4.1).
	// +optional
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
}

// BasicAuth is the source of a user name and a password. Set exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type BasicAuth struct {
	// secretRef is a Secret of type kubernetes.io/basic-auth, with the keys username and password.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// files are the paths of the user name and the password. In a cluster they are paths in the container of the
	// runner; on the command line they are paths on the machine.
	// +optional
	Files *BasicAuthFiles `json:"files,omitempty"`
}

// BasicAuthFiles are the paths of a user name and a password. The runner removes line ends at the end of each
// file.
type BasicAuthFiles struct {
	// username is the path of the user name. Bounds: at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Username string `json:"username"`
	// password is the path of the password. Bounds: at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Password string `json:"password"`
}

// BearerAuth is a token. The runner uses a changed token within a minute after its file has changed.
type BearerAuth struct {
	// tokenFrom is the source of the token.
	// +required
	TokenFrom ContentSource `json:"tokenFrom"`
}

// OAuth2 gets tokens with the client credentials grant. Each runner gets its own token, and is not ready
// without a token. The first setup chain that sends the token waits for it; without such a chain, the runner gets the
// token after setup. If a runner cannot renew its token, it uses the old one until that expires. After this the
// runner sends requests without a token, and the target decides how they fail.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clientSecretFrom) || has(self.clientID)",message="needs clientID",fieldPath=".clientSecretFrom"
type OAuth2 struct {
	// tokenURL is the URL of the token endpoint. It starts with http:// or https:// and may have a query. If it has the
	// scheme, host and port of a target's url, the runner connects as to that target: with its connectTo, tls.serverName
	// and tls.insecureSkipVerify. Bounds: at most 2048 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	TokenURL string `json:"tokenURL"`
	// http2 uses HTTP/2 with prior knowledge for an http:// token endpoint, as NRFs require. With an https://
	// endpoint http2 is not allowed, because ALPN decides. Default: false, HTTP/1.1.
	// +optional
	HTTP2 bool `json:"http2,omitempty"`
	// clientID is the identifier of the client. NRFs identify the client by the parameter nfInstanceId, and some reject
	// a request with a clientID. It is required with clientSecretFrom. Default: the runner sends no identifier. Bounds: at
	// most 256 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID,omitempty"`
	// clientSecretFrom is the source of the client secret. Default: the runner sends no client secret.
	// +optional
	ClientSecretFrom *ContentSource `json:"clientSecretFrom,omitempty"`
	// secretIn is where the runner sends the identifier and the secret of the client (RFC 6749 2.3.1). Header
	// sends both as Basic authentication. Body sends both as form fields. Without clientSecretFrom the identifier is
	// always a form field. Default: Header.
	// +optional
	// +kubebuilder:default=Header
	// +kubebuilder:validation:Enum=Header;Body
	SecretIn string `json:"secretIn,omitempty"`
	// scopes are the scopes that the runner requests. Default: none. Bounds: at most 32 entries with 1 to 256
	// characters each.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`
	// parameters are additional form fields, such as nfInstanceId, nfType and targetNfType of 3GPP TS 29.510
	// 6.3.5.2.2. Default: none. Bounds: at most 32 entries.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Parameters []Parameter `json:"parameters,omitempty"`
	// refreshBefore is how long before the expiry of a token the runner gets the next one. The runner waits for at
	// least half of the lifetime of the token. Default: 30s. Bounds: 0 to 1h; 0 means the default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	RefreshBefore *Duration `json:"refreshBefore,omitempty"`
	// caFrom is the source of the certificate authorities that the runner trusts for an https:// token endpoint. The
	// runner reads them once, when it starts.
	// Default: the authorities of the system.
	// +optional
	CAFrom *ContentSource `json:"caFrom,omitempty"`
	// certificate is the client certificate that the runner presents to an https:// token endpoint, as NRFs require.
	// The runner uses a changed one within a minute after its files have changed. Default: the runner presents no
	// certificate, also if the target has one.
	// +optional
	Certificate *ClientCertificate `json:"certificate,omitempty"`
}

// Parameter is a form field.
type Parameter struct {
	// name is the name of the form field. It must not be grant_type, scope, client_id or client_secret, which the
	// runner sets. Bounds: 1 to 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// value is the value of the form field. Bounds: at most 1024 characters.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// ClientAssertion is a client credentials assertion (3GPP TS 33.501 13.3.8): a JSON Web Token with the claims sub, iat,
// exp and aud. The runner signs it with RS256, ES256 or ES384, as the key requires, and sends the certificate in it
// (x5c). The runner signs the next one after half of the lifetime, with the certificate of that time.
type ClientAssertion struct {
	// nfInstanceID is the NF instance ID of the client (claim sub), a UUID. With another text the test runs, and the
	// operator and the command line warn. Bounds: 1 to 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	NFInstanceID string `json:"nfInstanceID"`
	// audience are the NF types of the receivers (claim aud), such as UDM and NRF. Bounds: 1 to 16 entries with 1 to 64
	// characters each.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Audience []string `json:"audience"`
	// certificate is the certificate and the private key that signs: RSA with at least 2048 bits, or ECDSA
	// with P-256 or P-384.
	// +required
	Certificate ClientCertificate `json:"certificate"`
	// lifetime is the time from iat to exp. Default: 5m. Bounds: 10s to 24h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be at least 10s and at most 24h"
	Lifetime *Duration `json:"lifetime,omitempty"`
}
