package simulate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/test/certtest"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

// Objects of users that tests refer to: rows of a table, and certificates of runners and of the target with TLS.
const (
	rowsName      = "rows"
	rowsKey       = "rows.csv"
	authorityName = "authority"
	authorityKey  = "ca.crt"
	clientName    = "client"
)

// content makes the objects of users, and changes them.
type content struct {
	w *World
	// authority signs all certificates.
	authority *certtest.Pair
	served    atomic.Pointer[tls.Certificate] // by the target
	rows      int
}

func newContent(t *testing.T, w *World) *content {
	t.Helper()
	c := &content{w: w, authority: certtest.New(t, x509.Certificate{NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	_, _ = apiserver.Create(w.api, &corev1.ConfigMap{ObjectMeta: meta(authorityName),
		Data: map[string]string{authorityKey: c.authority.PEM()}})
	_, _ = apiserver.Create(w.api, &corev1.ConfigMap{ObjectMeta: meta(rowsName),
		Data: map[string]string{rowsKey: "id\n0\n"}})
	_, _ = apiserver.Create(w.api, &corev1.Secret{ObjectMeta: meta(clientName), Type: corev1.SecretTypeTLS})
	c.rotate()
	return c
}

// rotate replaces the certificates of the target and of clients.
func (c *content) rotate() {
	pair := certtest.New(c.w.t, x509.Certificate{IPAddresses: []net.IP{net.ParseIP(tlsAddress)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, c.authority)
	c.served.Store(ptr.To(pair.TLS()))
	_ = apiserver.Change(c.w.api, namespace, clientName, func(s *corev1.Secret) {
		s.Data = map[string][]byte{corev1.TLSCertKey: []byte(pair.PEM()), corev1.TLSPrivateKeyKey: []byte(pair.KeyPEM())}
	})
}

// grow adds a row to the table.
func (c *content) grow() {
	c.rows++
	_ = apiserver.Change(c.w.api, namespace, rowsName, func(m *corev1.ConfigMap) {
		m.Data = map[string]string{rowsKey: fmt.Sprint(m.Data[rowsKey], c.rows, "\n")}
	})
}

// listen makes a listener one of TLS, which wants a certificate of clients.
func (c *content) listen(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{NextProtos: []string{"h2"}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs:      c.authority.Pool(),
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.served.Load(), nil }})
}
