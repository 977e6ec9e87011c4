package simulate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	served    atomic.Pointer[tls.Certificate] // by the target
	rows      int
}

func newContent(t *testing.T, w *World) *content {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &content{w: w, key: key}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err == nil {
		c.authority, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	_, _ = apiserver.Create(w.api, &corev1.ConfigMap{ObjectMeta: meta(authorityName),
		Data: map[string]string{authorityKey: string(pemOf("CERTIFICATE", der))}})
	_, _ = apiserver.Create(w.api, &corev1.ConfigMap{ObjectMeta: meta(rowsName),
		Data: map[string]string{rowsKey: "id\n0\n"}})
	_, _ = apiserver.Create(w.api, &corev1.Secret{ObjectMeta: meta(clientName), Type: corev1.SecretTypeTLS})
	c.rotate()
	return c
}

// rotate replaces the certificates of the target and of clients.
func (c *content) rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	var der, private []byte
	if err == nil {
		der, err = x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.ParseIP(tlsAddress)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, c.authority,
			&key.PublicKey,
			c.key)
	}
	if err == nil {
		private, err = x509.MarshalPKCS8PrivateKey(key)
	}
	if err != nil {
		panic(err)
	}
	c.served.Store(&tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})
	_ = apiserver.Change(c.w.api, namespace, clientName, func(s *corev1.Secret) {
		s.Data = map[string][]byte{corev1.TLSCertKey: pemOf("CERTIFICATE", der), corev1.TLSPrivateKeyKey: pemOf("PRIVATE KEY",
			private)}
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
	pool := x509.NewCertPool()
	pool.AddCert(c.authority)
	return tls.NewListener(l, &tls.Config{NextProtos: []string{"h2"}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs:      pool,
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.served.Load(), nil }})
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
