package v1alpha1

// Names in the certificates of the control channel. Both ends have a certificate of the same CA. If only the CA
// counted, a runner could control another runner, so each end also checks the other one's name. The names are DNS
// subject alternative names (RFC 5280 4.2.1.6); nothing resolves them, and pods are reached by address.
const (
	// OperatorName is in the client certificate of the operator, together with the extended key usage clientAuth. A
	// runner rejects a client without it.
	OperatorName = "operator.h2surge.io"
	// RunnerName is in the server certificate of every runner, together with the extended key usage serverAuth. The
	// operator checks it as the TLS server name.
	RunnerName = "runner.h2surge.io"
)

// Files in a runner's TLS directory, as the keys of the Secret that is mounted there. All are PEM. TLSCAFile contains
// the CA of the installation (during a rotation, both CA certificates).
const (
	TLSCAFile   = "ca.crt"
	TLSCertFile = "tls.crt"
	TLSKeyFile  = "tls.key"
)
