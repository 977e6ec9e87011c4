package v1alpha1

// Names in the certificates of the control channel. Both ends have a leaf of the same install
// CA, so the CA alone would let a runner steer another runner: each end also asks for the other
// one's name. The names are DNS subject alternative names (RFC 5280 4.2.1.6); nothing resolves
// them, and pods are reached by address.
const (
	// OperatorName is in the client certificate of whoever steers runners, together with the
	// extended key usage clientAuth. A runner refuses a client without it.
	OperatorName = "operator.h2surge.io"
	// RunnerName is in the server certificate of every runner, together with the extended key
	// usage serverAuth. The operator asks for it as the TLS server name.
	RunnerName = "runner.h2surge.io"
)

// Files in a runner's TLS directory, as the keys of the Secret that is mounted there. All are
// PEM. TLSCAFile holds the install CA (one or more certificates: during a rotation both).
const (
	TLSCAFile   = "ca.crt"
	TLSCertFile = "tls.crt"
	TLSKeyFile  = "tls.key"
)
