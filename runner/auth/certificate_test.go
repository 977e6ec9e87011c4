package auth

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// TestClientCertificate checks that the token endpoint gets the certificate, the next one after it was replaced, and the
// form of an NRF: no client_id.
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
		CAFile: write(t, dir, "ca.crt", certtest.PEM(e.Certificate())),
	}
	if _, err := newOAuth2(c, nil); err == nil || !strings.Contains(err.Error(), "oauth2.certFile "+c.CertFile) {
		t.Errorf("without the files: %v", err)
	}
	certtest.Self(t, "one").Write(t, dir)
	synctest.Test(t, func(t *testing.T) {
		o, err := newOAuth2(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"one", "two"} {
			if g, err := o.fetch(t.Context()); err != nil || string(g.value) != "Bearer "+name {
				t.Errorf("%q, %v, want the token of %s", g.value, err, name)
			}
			certtest.Self(t, "two").Write(t, dir)
			time.Sleep(time.Minute)
		}
	})
}
