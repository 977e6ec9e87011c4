package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// issue writes a new certificate and its key.
func issue(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		write(t, filepath.Dir(path), filepath.Base(path), string(pem.EncodeToMemory(block)))
	}
}

// TestClientCertificate checks that the token endpoint gets the certificate, a new one for the next token, and the form
// of an NRF: no client_id.
func TestClientCertificate(t *testing.T) {
	e := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.PostForm.Has("client_id") || r.PostForm.Get("nfType") != "AMF" {
			t.Errorf("form %v, %v", r.PostForm, err)
		}
		_, _ = io.WriteString(w, `{"access_token":"`+r.TLS.PeerCertificates[0].Subject.CommonName+`","token_type":"Bearer"}`)
	}))
	e.EnableHTTP2, e.TLS = true, &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}
	e.StartTLS()
	t.Cleanup(e.Close)
	dir := t.TempDir()
	c := &rv.OAuth2{
		TokenURL: e.URL + "/oauth2/token", Parameters: map[string]string{"nfType": "AMF"},
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		CAFile: write(t, dir, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw}))),
	}
	if _, err := newOAuth2(c, nil, nil); err == nil || !strings.Contains(err.Error(), "oauth2.certFile "+c.CertFile) {
		t.Errorf("without the files: %v", err)
	}
	issue(t, c.CertFile, c.KeyFile, "one")
	o, err := newOAuth2(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		issue(t, c.CertFile, c.KeyFile, name)
		if g, err := o.fetch(t.Context()); err != nil || string(g.value) != "Bearer "+name {
			t.Errorf("%q, %v, want the token of %s", g.value, err, name)
		}
	}
}
