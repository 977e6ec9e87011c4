package compile

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
)

const (
	maxClientID   = 256
	maxScopes     = 32
	maxParameters = 32
	maxFormField  = 1024
)

func (c *compiler) auth(at *field.Path, in *v1alpha1.Auth) *rv.Auth {
	out := &rv.Auth{}
	kinds := 0
	if in.Basic != nil {
		kinds++
		out.Basic = c.basicAuth(at.Child("basic"), in.Basic)
	}
	if in.Bearer != nil {
		kinds++
		out.Bearer = c.bearerAuth(at.Child("bearer"), in.Bearer)
	}
	if in.OAuth2 != nil {
		kinds++
		out.OAuth2 = c.oauth2(at.Child("oauth2"), in.OAuth2)
	}
	if kinds != 1 {
		c.fail(at, "exactly one of basic, bearer and oauth2 is needed")
	}
	return out
}

func (c *compiler) basicAuth(at *field.Path, in *v1alpha1.BasicAuth) *rv.BasicAuth {
	out := &rv.BasicAuth{}
	if (in.SecretRef != nil) == (in.Files != nil) {
		c.fail(at, "exactly one of secretRef and files is needed")
	}
	if in.SecretRef != nil {
		c.objectName(at.Child("secretRef", "name"), in.SecretRef.Name)
		out.UsernameFile = mounted(Secret, in.SecretRef.Name, corev1.BasicAuthUsernameKey)
		out.PasswordFile = mounted(Secret, in.SecretRef.Name, corev1.BasicAuthPasswordKey)
	}
	if in.Files != nil {
		out.UsernameFile = c.file(at.Child("files", "username"), in.Files.Username)
		out.PasswordFile = c.file(at.Child("files", "password"), in.Files.Password)
	}
	return out
}

func (c *compiler) bearerAuth(at *field.Path, in *v1alpha1.BearerAuth) *rv.BearerAuth {
	file, sources := c.source(at, nil, in.SecretKeyRef, in.File)
	if sources != 1 {
		c.fail(at, "exactly one of secretKeyRef and file is needed")
	}
	return &rv.BearerAuth{TokenFile: file}
}

func (c *compiler) oauth2(at *field.Path, in *v1alpha1.OAuth2) *rv.OAuth2 {
	out := &rv.OAuth2{
		TokenURL:      in.TokenURL,
		HTTP2:         in.HTTP2,
		ClientID:      in.ClientID,
		SecretInBody:  in.SecretIn == "Body",
		Scopes:        c.scopes(at.Child("scopes"), in.Scopes),
		Parameters:    c.parameters(at.Child("parameters"), in.Parameters),
		RefreshBefore: c.duration(at.Child("refreshBefore"), in.RefreshBefore, span{0, timeoutSpan.high, "must be at most 1h, and not negative"}),
	}
	secure := c.tokenURL(at.Child("tokenURL"), in.TokenURL)
	if secure && in.HTTP2 {
		c.fail(at.Child("http2"), "needs an http:// tokenURL; with https ALPN decides")
	}
	if path := at.Child("clientID"); in.ClientID == "" {
		c.fail(path, "is needed")
	} else {
		c.length(path, in.ClientID, maxClientID)
	}
	if in.SecretIn != "Header" && in.SecretIn != "Body" {
		c.fail(at.Child("secretIn"), "must be Header or Body")
	}
	if in.ClientSecret != nil {
		out.ClientSecretFile = c.contentSource(at.Child("clientSecret"), in.ClientSecret)
	}
	if in.CA != nil {
		out.CAFile = c.authority(at.Child("ca"), in.CA)
		if !secure && in.TokenURL != "" {
			c.warn(at.Child("ca"), "is not used, because tokenURL is not an https URL")
		}
	}
	return out
}

// tokenURL tells whether the URL is one of https.
func (c *compiler) tokenURL(path *field.Path, raw string) (secure bool) {
	switch {
	case raw == "":
		c.fail(path, "is needed")
	case c.length(path, raw, maxURL):
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
	return false
}

func (c *compiler) scopes(path *field.Path, scopes []string) []string {
	c.items(path, len(scopes), 0, maxScopes)
	index := map[string]int{}
	for i, scope := range scopes {
		at := path.Index(i)
		switch {
		case scope == "":
			c.fail(at, "must not be empty")
		case c.length(at, scope, maxClientID) && !isScope(scope):
			c.fail(at, `must be one scope: printable ASCII characters without blanks, " and \ (RFC 6749 3.3)`)
		}
		c.unique(at, index, scope, i)
	}
	return orNil(scopes)
}

func isScope(s string) bool { return isPrintable(s) && !strings.ContainsAny(s, ` "\`) }

// grantFields are those that runners fill in.
var grantFields = map[string]bool{"grant_type": true, "scope": true, "client_id": true, "client_secret": true}

func (c *compiler) parameters(path *field.Path, in []v1alpha1.Parameter) map[string]string {
	c.items(path, len(in), 0, maxParameters)
	if len(in) == 0 {
		return nil
	}
	index := map[string]int{}
	out := map[string]string{}
	for i, p := range in {
		at := path.Index(i)
		switch name := at.Child("name"); {
		case p.Name == "":
			c.fail(name, "is needed")
		case c.length(name, p.Name, maxClientID) && grantFields[p.Name]:
			c.fail(name, "must not be a field that the runner sets: grant_type, scope, client_id, client_secret")
		}
		c.unique(at.Child("name"), index, p.Name, i)
		c.length(at.Child("value"), p.Value, maxFormField)
		out[p.Name] = p.Value
	}
	return out
}
