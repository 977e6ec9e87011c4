package convert

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
)

// Header returns a header field of a template; value may have placeholders. It removes white space at the ends of the
// value, with a warning (RFC 9113 8.2.1). ok is false, with a warning, for fields that the engine sets and for fields
// of a connection. If the LoadTest runs now, it returns all fields, and the compiler reports what is wrong with them.
func (d *Draft) Header(at, from, name, value string) (h v1alpha1.Header, ok bool) {
	trimmed := strings.Trim(value, " \t")
	if d.Unsaved {
		return v1alpha1.Header{Name: name, Value: &trimmed}, true
	}
	if trimmed != value {
		d.WarnAt(at, from, "the white space around the value of %s is taken off (RFC 9113 8.2.1)", name)
	}
	switch strings.ToLower(name) {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "http2-settings":
		d.WarnAt(at, from, "%s belongs to a connection and is left out", name)
		return h, false
	case "te":
		if !strings.EqualFold(trimmed, "trailers") {
			d.WarnAt(at, from, "te with another value than trailers is left out (RFC 9113 8.2.2)")
			return h, false
		}
	case "content-length":
		d.WarnAt(at, from, "content-length is set from the body and left out")
		return h, false
	case "authorization", "proxy-authorization":
		d.WarnAt(at, from, "the manifest contains the value of %s, which every reader of the manifest can see; use valueFrom, or auth of the target", name)
	}
	return v1alpha1.Header{Name: name, Value: &trimmed}, true
}

// URL is the parts of one that a manifest has in different places.
type URL struct {
	// Scheme is http or https, Authority the host, in lower case, and the port unless it is the
	// scheme's.
	Scheme, Authority string
	// Path begins with a slash and has the query.
	Path string
}

// Base is the URL of a target.
func (u URL) Base() string { return u.Scheme + "://" + u.Authority }

// OneURL returns the only URL of a command line, which is one of http if it has no scheme, and its user. It returns
// false, with a mistake, if there is not exactly one.
func (d *Draft) OneURL(given []string) (u URL, user *url.Userinfo, ok bool) {
	if len(given) != 1 {
		d.Fail("URL", "exactly one is needed, not %d", len(given))
		return u, nil, false
	}
	raw := given[0]
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, user, err := SplitURL(raw)
	if err != nil {
		d.Fail("URL", "%v", err)
		return u, nil, false
	}
	return u, user, true
}

// Named returns the URL of a host that requests name in place of that of u. It returns false if the text is not a host
// with an optional port.
func (u URL) Named(host string) (named URL, ok bool) {
	named, user, err := SplitURL(u.Scheme + "://" + host)
	return named, err == nil && user == nil && named.Path == "/"
}

// SplitURL parses an absolute URL of http or https. It drops the fragment, which is never sent (RFC 9110 7.1), and
// returns the user separately.
func SplitURL(raw string) (u URL, user *url.Userinfo, err error) {
	scheme, rest, found := strings.Cut(raw, "://")
	u.Scheme = strings.ToLower(scheme)
	if !found || u.Scheme != "http" && u.Scheme != "https" {
		return u, nil, errors.New("must be a URL that begins with http:// or https://")
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	parsed, err := url.Parse(u.Scheme + "://" + rest[:end])
	if err != nil || parsed.Hostname() == "" {
		return u, nil, errors.New("has no host, or one that cannot be")
	}
	u.Authority = Authority(u.Scheme, parsed.Hostname(), parsed.Port())
	path, _, _ := strings.Cut(rest[end:], "#")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u.Path = EscapePath(path)
	return u, parsed.User, nil
}

// Authority puts host and port together. The port is left out when it is empty or the scheme's.
func Authority(scheme, host, port string) string {
	host = strings.ToLower(strings.Trim(host, "[]"))
	if port == "" || port == DefaultPort(scheme) {
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return net.JoinHostPort(host, port)
}

// DefaultPort is that of a scheme (RFC 9110 4.2).
func DefaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// EscapePath percent-encodes what no path or query may have: white space, control characters, #
// and all that is not ASCII.
func EscapePath(path string) string {
	var out []byte
	for i := range len(path) {
		if c := path[i]; octet.IsVisible(c) && c != '#' {
			out = append(out, c)
		} else {
			out = octet.AppendPercent(out, c)
		}
	}
	return string(out)
}

// Dialled is host and port of the URL, for connectTo.
func (u URL) Dialled() string {
	if _, _, err := net.SplitHostPort(u.Authority); err == nil {
		return u.Authority
	}
	return net.JoinHostPort(strings.Trim(u.Authority, "[]"), DefaultPort(u.Scheme))
}

// Statuses returns status codes such as "201", which a manifest has as numbers, and classes such as "2xx", which
// OpenAPI writes as "2XX".
func Statuses(written ...string) (out []intstr.IntOrString) {
	for _, s := range written {
		out = append(out, intstr.Parse(strings.ToLower(s)))
	}
	return out
}
