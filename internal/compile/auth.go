package compile

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
	"github.com/h2surge/h2surge/internal/lazy"
)

func (c *checker) auth(at *field.Path, in *v1alpha1.Auth) *rv.Auth {
	out := &rv.Auth{}
	if in.Basic != nil {
		out.Basic = c.basicAuth(at.Child("basic"), in.Basic)
	}
	if in.Bearer != nil {
		out.Bearer = c.bearerAuth(at.Child("bearer"), in.Bearer)
	}
	if in.OAuth2 != nil {
		out.OAuth2 = c.oauth2(at.Child("oauth2"), in.OAuth2)
	}
	return out
}

func (c *checker) clientAssertion(at *field.Path, in *v1alpha1.ClientAssertion) *rv.ClientAssertion {
	out := &rv.ClientAssertion{Subject: in.NFInstanceID, Audience: orNil(in.Audience), Lifetime: in.Lifetime.Duration}
	out.CertFile, out.KeyFile = c.clientCertificate(at.Child("certificate"), &in.Certificate)
	if in.NFInstanceID != "" && !uuidSyntax().MatchString(in.NFInstanceID) {
		c.warn(at.Child("nfInstanceID"), "is not a UUID (TS 29.571 5.3.2), so receivers can refuse it")
	}
	return out
}

var uuidSyntax = lazy.Regexp(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

func (c *checker) basicAuth(at *field.Path, in *v1alpha1.BasicAuth) *rv.BasicAuth {
	out := &rv.BasicAuth{}
	if in.SecretRef != nil {
		out.UsernameFile = mounted(Secret, in.SecretRef.Name, corev1.BasicAuthUsernameKey)
		out.PasswordFile = mounted(Secret, in.SecretRef.Name, corev1.BasicAuthPasswordKey)
	}
	if in.Files != nil {
		out.UsernameFile = c.file(at.Child("files", "username"), in.Files.Username)
		out.PasswordFile = c.file(at.Child("files", "password"), in.Files.Password)
	}
	return out
}

func (c *checker) bearerAuth(at *field.Path, in *v1alpha1.BearerAuth) *rv.BearerAuth {
	return &rv.BearerAuth{TokenFile: c.contentSource(at.Child("tokenFrom"), &in.TokenFrom)}
}

func (c *checker) oauth2(at *field.Path, in *v1alpha1.OAuth2) *rv.OAuth2 {
	out := &rv.OAuth2{
		TokenURL:      in.TokenURL,
		HTTP2:         in.HTTP2,
		ClientID:      in.ClientID,
		SecretInBody:  in.SecretIn == "Body",
		Scopes:        c.scopes(at.Child("scopes"), in.Scopes),
		Parameters:    c.parameters(at.Child("parameters"), in.Parameters),
		RefreshBefore: in.RefreshBefore.Duration,
	}
	secure := c.tokenURL(at.Child("tokenURL"), in.TokenURL)
	if secure && in.HTTP2 {
		c.fail(at.Child("http2"), "needs an http:// tokenURL; with https ALPN decides")
	}
	if in.ClientSecretFrom != nil && in.ClientID == "" {
		c.fail(at.Child("clientSecretFrom"), "needs clientID")
	}
	if in.ClientSecretFrom != nil {
		out.ClientSecretFile = c.contentSource(at.Child("clientSecretFrom"), in.ClientSecretFrom)
	}
	c.oauth2TLS(at, in, out, secure || in.TokenURL == "")
	return out
}

// oauth2TLS sets the files of a token endpoint with https.
func (c *checker) oauth2TLS(at *field.Path, in *v1alpha1.OAuth2, out *rv.OAuth2, used bool) {
	const unused = "is not used, because tokenURL is not an https URL"
	if in.CAFrom != nil {
		out.CAFile = c.contentSource(at.Child("caFrom"), in.CAFrom)
		if !used {
			c.warn(at.Child("caFrom"), unused)
		}
	}
	if in.Certificate != nil {
		out.CertFile, out.KeyFile = c.clientCertificate(at.Child("certificate"), in.Certificate)
		if !used {
			c.warn(at.Child("certificate"), unused)
		}
	}
}

// tokenURL checks the URL, and reports whether its scheme is https.
func (c *checker) tokenURL(path *field.Path, raw string) (secure bool) {
	base, query, _ := strings.Cut(raw, "?") // it may have a query (RFC 6749 3.2)
	e, err := endpoint.Parse(base)
	switch {
	case err != nil:
		c.fail(path, "%s", err.Error())
	case strings.Contains(query, "#"):
		c.fail(path, "must not have a fragment (#)")
	case !validPath(query):
		c.fail(path, "has a character in its query which must be percent-encoded")
	}
	return e.Scheme == "https"
}

func (c *checker) scopes(path *field.Path, scopes []string) []string {
	for i, scope := range scopes {
		if !isScope(scope) {
			c.fail(path.Index(i), `must be one scope: printable ASCII characters without blanks, " and \ (RFC 6749 3.3)`)
		}
	}
	return orNil(scopes)
}

func isScope(s string) bool { return matches(`^[ -~]+$`, s) && !strings.ContainsAny(s, ` "\`) }

// grantFields are the form fields that runners set.
var grantFields = map[string]bool{"grant_type": true, "scope": true, "client_id": true, "client_secret": true}

func (c *checker) parameters(path *field.Path, in []v1alpha1.Parameter) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := map[string]string{}
	for i, p := range in {
		if grantFields[p.Name] {
			c.fail(path.Index(i).Child("name"),
				"must not be a field that the runner sets: grant_type, scope, client_id, client_secret")
		}
		out[p.Name] = p.Value
	}
	return out
}

// tokenEndpoints connects to the token endpoints that are on the host and port of a target as to the target: with its
// connectTo, serverName and insecureSkipVerify.
func (c *planner) tokenEndpoints() {
	for i := range c.plan.Targets {
		auth := c.plan.Targets[i].Auth
		if auth == nil || auth.OAuth2 == nil {
			continue
		}
		base, _, _ := strings.Cut(auth.OAuth2.TokenURL, "?")
		of, err := endpoint.Parse(base)
		if err != nil {
			continue
		}
		for j := range c.plan.Targets {
			if asTarget(auth.OAuth2, &c.plan.Targets[j], &of) {
				break
			}
		}
	}
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// asTarget takes the settings of a target for a token endpoint, if one of the target's endpoints has its host and port.
func asTarget(to *rv.OAuth2, t *rv.Target, of *rv.Endpoint) bool {
	for i := range t.Endpoints {
		e := &t.Endpoints[i]
		port := defaultPorts[e.Scheme]
		host, ofHost := strings.TrimSuffix(e.Authority, port), strings.TrimSuffix(of.Authority, port)
		if e.Scheme != of.Scheme || !strings.EqualFold(host, ofHost) {
			continue
		}
		if e.Address != of.Address {
			to.Address = e.Address
		}
		if t.TLS != nil {
			to.ServerName, to.InsecureSkipVerify = t.TLS.ServerName, t.TLS.InsecureSkipVerify
		}
		return true
	}
	return false
}
