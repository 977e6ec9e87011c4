package h2loadrunner

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// tlsFields are those that need https.
var tlsFields = []string{"ciphers", "caCert", "cert", "privateKey", "certVerificationMode", "max-tls-version"}

func (c *converter) noTLS() {
	for _, name := range tlsFields {
		if raw := c.top.Take(name); raw != nil && string(raw) != `""` && string(raw) != "0" && name != "max-tls-version" {
			c.Warn(name, "is left out: schema is http")
		}
	}
}

func (c *converter) tls() {
	t := c.main().TLS
	if t == nil {
		t = &v1alpha1.TLS{}
	}
	at := "spec.targets[0].tls"
	switch mode := c.top.Whole("certVerificationMode", 0); mode {
	case 0:
		t.InsecureSkipVerify = true
		c.WarnAt(at+".insecureSkipVerify", "certVerificationMode",
			"0 accepts any certificate; without insecureSkipVerify the server's is verified")
	case 1:
		c.WarnAt(at, "certVerificationMode",
			"1 verifies the chain of certificates only; here the name is verified too (tls.serverName says which one)")
	default:
		c.Fail("certVerificationMode", "must be 0 or 1")
	}
	switch version := c.top.Text("max-tls-version"); version {
	case "", "TLSv1.3":
	case "TLSv1.2":
		t.MaxVersion = v1alpha1.TLS12
	default:
		c.WarnAt(at, "max-tls-version", "%s is not possible and left out; 1.2 and 1.3 are", version)
	}
	if c.top.Text("ciphers") != "" {
		c.WarnAt(at, "ciphers", "names of OpenSSL are not converted; tls.cipherSuites takes IANA's, and Go's choice is offered without it")
	}
	t.CAFrom = c.authority(c.top.Text("caCert"))
	t.Certificate = c.clientCertificate(c.top.Text("cert"), c.top.Text("privateKey"))
	c.main().TLS = t
}

// isPEM returns true if a value is inline PEM, and false if it is a path.
func isPEM(s string) bool { return strings.Contains(s, "-----BEGIN ") }

func (c *converter) authority(s string) *v1alpha1.ContentSource {
	switch {
	case s == "":
		return nil
	case !isPEM(s):
		c.WarnAt("spec.targets[0].tls.caFrom", "caCert",
			"is a path where the runner runs: in a cluster use configMap or secret")
		return &v1alpha1.ContentSource{File: s}
	}
	source := c.Gather("caCert", "ca.crt", "", []byte(s))
	return &source
}

func (c *converter) clientCertificate(certificate, key string) *v1alpha1.ClientCertificate {
	switch {
	case certificate == "" && key == "":
		return nil
	case certificate == "":
		c.Fail("cert", "is required with privateKey")
		return nil
	case key == "":
		c.Fail("privateKey", "is required with cert")
		return nil
	case !isPEM(certificate) && !isPEM(key):
		c.WarnAt("spec.targets[0].tls.certificate", "cert",
			"and privateKey are paths where the runner runs: in a cluster use secret")
		return &v1alpha1.ClientCertificate{Files: &v1alpha1.CertificateFiles{Certificate: certificate, Key: key}}
	}
	pem := map[string]string{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
	for k, from := range map[string]string{corev1.TLSCertKey: "cert", corev1.TLSPrivateKeyKey: "privateKey"} {
		if isPEM(pem[k]) {
			continue
		}
		content, ok := c.Read(from, pem[k]) // one is inline, so both go into the Secret
		if !ok {
			return nil
		}
		pem[k] = string(content)
	}
	c.WarnAt("spec.targets[0].tls.certificate", "privateKey",
		"the key stands in the Secret below; do not commit this file as it is")
	return &v1alpha1.ClientCertificate{SecretRef: &v1alpha1.SecretReference{Name: c.GatherSecret("tls",
		corev1.SecretTypeTLS, pem)}}
}
