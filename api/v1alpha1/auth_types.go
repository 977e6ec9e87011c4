package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Auth is the source of the authorization field of requests (RFC 9110 11.6.2). It has exactly one field.
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
	// oauth2 gets tokens by client credentials (RFC 6749 4.4), before the test starts and again
	// before they expire; as the NRF of a 5G core grants them (3GPP TS 33.501 13.4.1).
	// +optional
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
}

// BasicAuth is a user name and a password. It has exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type BasicAuth struct {
	// secretRef is a Secret of type kubernetes.io/basic-auth, with the keys username and password.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// files are paths where the runner runs, as in bodyFrom.
	// +optional
	Files *BasicAuthFiles `json:"files,omitempty"`
}

// BasicAuthFiles hold a user name and a password; a line end at the end is removed.
type BasicAuthFiles struct {
	// username is the path of the user name, at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Username string `json:"username"`
	// password is the path of the password, at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Password string `json:"password"`
}

// BearerAuth is a token. It has exactly one field. The runner reads a token that changes again within a minute.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type BearerAuth struct {
	// secretKeyRef is a key of a Secret.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// file is a path where the runner runs, as in bodyFrom.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// OAuth2 gets tokens by client credentials. Each runner gets its own. Without a token a runner does not
// become ready; when one cannot be renewed, the old one is used until it expires, and what is sent
// without a valid one fails as the target decides.
type OAuth2 struct {
	// tokenURL is the token endpoint, http:// or https://, at most 2048 characters. Over http HTTP/2
	// with prior knowledge is used when http2 is true.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	TokenURL string `json:"tokenURL"`
	// http2 speaks HTTP/2 with prior knowledge to an http:// token endpoint, as NRFs want. Over https
	// ALPN decides. Default false.
	// +optional
	HTTP2 bool `json:"http2,omitempty"`
	// clientID is the name of the client, at most 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`
	// clientSecret is where the client's secret is. Default: none is sent.
	// +optional
	ClientSecret *ContentSource `json:"clientSecret,omitempty"`
	// secretIn is where the runner sends the client's id and secret (RFC 6749 2.3.1). Header is as Basic
	// authentication. Body is as form fields. Without a secret the id is in the body. Default Header.
	// +optional
	// +kubebuilder:default=Header
	// +kubebuilder:validation:Enum=Header;Body
	SecretIn string `json:"secretIn,omitempty"`
	// scopes that are asked for, up to 32. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`
	// parameters are further form fields, up to 32, such as nfInstanceId, nfType and targetNfType of
	// 3GPP TS 29.510 6.3.5.2.2. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Parameters []Parameter `json:"parameters,omitempty"`
	// refreshBefore is how long before its expiry a token is replaced. At most 1h. Default 30s, and never
	// more than half of the token's lifetime.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	RefreshBefore *metav1.Duration `json:"refreshBefore,omitempty"`
	// ca are the certificates of the authorities to trust for an https token endpoint. Default: the
	// system's.
	// +optional
	CA *CertificateAuthority `json:"ca,omitempty"`
}

// Parameter is a form field.
type Parameter struct {
	// name of the field, at most 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// value of the field, at most 1024 characters.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}
