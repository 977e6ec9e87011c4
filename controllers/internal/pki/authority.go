package pki

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"sync"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Keys of the CA Secret.
const (
	keyCert         = "tls.crt"
	keyKey          = "tls.key"
	keyPreviousCert = "previous.crt"
	keyPreviousKey  = "previous.key"
)

// Authority is the install CA and, for a while after a rotation, the one before it. It is
// immutable but for the operator's certificates, which it mints when they are asked for.
type Authority struct {
	current  *ca
	previous *ca // nil: none
	roots    *x509.CertPool
	now      func() time.Time

	mu       sync.Mutex
	operator map[*ca]*tls.Certificate               // guarded by mu
	configs  map[types.UID]weak.Pointer[tls.Config] // those that connections use, by run; guarded by mu
}

func newAuthority(current, previous *ca, now func() time.Time) *Authority {
	a := &Authority{current: current, previous: previous, roots: x509.NewCertPool(), now: now,
		operator: map[*ca]*tls.Certificate{}, configs: map[types.UID]weak.Pointer[tls.Config]{}}
	for _, c := range a.all() {
		a.roots.AddCert(c.cert)
	}
	return a
}

// RunName is the name in the server certificate of one run's runners.
func RunName(uid types.UID) string { return string(uid) + "." + runnerv1alpha1.RunnerName }

// RunnerFiles returns the contents of the TLS directory of a run's runners. Their certificate ends with its CA.
func (a *Authority) RunnerFiles(uid types.UID) (map[string][]byte, error) {
	cert, key, err := a.current.issue(x509.ExtKeyUsageServerAuth, a.now(), a.current.cert.NotAfter,
		runnerv1alpha1.RunnerName, RunName(uid))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		runnerv1alpha1.TLSCAFile:   a.bundle(),
		runnerv1alpha1.TLSCertFile: cert,
		runnerv1alpha1.TLSKeyFile:  key,
	}, nil
}

// ClientConfig is how the operator speaks to the runners of one run. Their connections share it, so it must not be
// changed.
func (a *Authority) ClientConfig(uid types.UID) *tls.Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cfg := a.configs[uid].Value(); cfg != nil {
		return cfg
	}
	maps.DeleteFunc(a.configs, func(_ types.UID, p weak.Pointer[tls.Config]) bool { return p.Value() == nil })
	cfg := &tls.Config{
		MinVersion:           tls.VersionTLS13,
		RootCAs:              a.roots,
		ServerName:           RunName(uid),
		GetClientCertificate: a.clientCertificate,
		Time:                 a.now,
	}
	a.configs[uid] = weak.Make(cfg)
	return cfg
}

// clientCertificate picks the certificate of a CA that the runner trusts: one that was started
// before a rotation knows the previous CA only.
func (a *Authority) clientCertificate(req *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	var err error
	for _, c := range a.all() {
		var cert *tls.Certificate
		if cert, err = a.mint(c); err != nil {
			return nil, err
		}
		if err = req.SupportsCertificate(cert); err == nil {
			return cert, nil
		}
	}
	return nil, fmt.Errorf("the runner does not trust the install CA or the previous install CA: %w", err)
}

// mint returns the operator's certificate by c, renewed when half of its life is over.
func (a *Authority) mint(c *ca) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cert := a.operator[c]; cert != nil && a.now().Add(operatorLifetime/2).Before(cert.Leaf.NotAfter) {
		return cert, nil
	}
	certPEM, keyPEM, err := c.issue(x509.ExtKeyUsageClientAuth, a.now(), a.now().Add(operatorLifetime),
		runnerv1alpha1.OperatorName)
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("loading the operator's certificate: %w", err)
	}
	a.operator[c] = &cert
	return &cert, nil
}

func (a *Authority) all() []*ca {
	if a.previous == nil {
		return []*ca{a.current}
	}
	return []*ca{a.current, a.previous}
}

func (a *Authority) bundle() []byte {
	var pem []byte
	for _, c := range a.all() {
		pem = append(pem, encodeCert(c.cert.Raw)...)
	}
	return pem
}

// due: the current CA is near its end, or the previous one is past it.
func (a *Authority) due() bool {
	return a.now().Add(caRenewal).After(a.current.cert.NotAfter) ||
		a.previous != nil && a.now().After(a.previous.cert.NotAfter)
}

// renewed is what takes the place of an authority that is due.
func (a *Authority) renewed() (*Authority, error) {
	if !a.now().Add(caRenewal).After(a.current.cert.NotAfter) {
		return newAuthority(a.current, nil, a.now), nil
	}
	next, err := newCA(a.now())
	if err != nil {
		return nil, err
	}
	previous := a.current
	if a.now().After(previous.cert.NotAfter) {
		previous = nil
	}
	return newAuthority(next, previous, a.now), nil
}

func (a *Authority) encode() (map[string][]byte, error) {
	key, err := encodeKey(a.current.key)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{keyCert: encodeCert(a.current.cert.Raw), keyKey: key}
	if a.previous != nil {
		if key, err = encodeKey(a.previous.key); err != nil {
			return nil, err
		}
		data[keyPreviousCert], data[keyPreviousKey] = encodeCert(a.previous.cert.Raw), key
	}
	return data, nil
}

func decode(data map[string][]byte, now func() time.Time) (*Authority, error) {
	current, err := decodeCA(data[keyCert], data[keyKey])
	if err != nil {
		return nil, fmt.Errorf("decoding the install CA: %w", err)
	}
	var previous *ca
	if len(data[keyPreviousCert]) > 0 {
		if previous, err = decodeCA(data[keyPreviousCert], data[keyPreviousKey]); err != nil {
			return nil, fmt.Errorf("decoding the previous install CA: %w", err)
		}
	}
	return newAuthority(current, previous, now), nil
}
