package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// secrets are the forms in which a client's secret is sent. A peer may send back what it got.
type secrets []string

func (o *oauth2) forms(secret string) secrets {
	if secret == "" {
		return nil
	}
	escaped := url.QueryEscape(secret)
	pair := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(o.config.ClientID) + ":" + escaped))
	return secrets{secret, strings.Trim(fmt.Sprintf("%q", secret), `"`), escaped, pair}
}

func (s secrets) in(text string) bool {
	return slices.ContainsFunc(s, func(form string) bool { return strings.Contains(text, form) })
}

// quote returns the text of a peer for an error message, unless it contains a secret.
func (s secrets) quote(text string) string {
	if s.in(text) {
		return "(not shown, because it contains the client's secret)"
	}
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return fmt.Sprintf("%q", text)
}

// strip takes the URL off an error of net/http, and all of an error that has the secret in it.
func (s secrets) strip(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if s.in(err.Error()) {
		return errors.New("failed; the reason is not shown, because it contains the client's secret")
	}
	return err
}
