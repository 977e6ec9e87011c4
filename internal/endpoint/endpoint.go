// Package endpoint parses the URLs of targets: those of a manifest, and those of a runner after it has replaced
// placeholders.
package endpoint

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
)

// HostName matches a host that is not an IP address.
var HostName = regexp.MustCompile(`^[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_.])?$`)

// maxHost is the longest name that DNS can have (RFC 1035 2.3.4), in octets.
const maxHost = 253

const noScheme = "must begin with http:// or https://"

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// Parse takes a URL such as http://host:port/prefix apart. An error says what the URL must be, and
// quotes nothing of it, since it may hold a password.
func Parse(raw string) (rv.Endpoint, error) {
	u, err := url.Parse(raw)
	if err != nil && !strings.Contains(raw, "://") {
		return rv.Endpoint{}, errors.New(noScheme)
	}
	if err != nil {
		return rv.Endpoint{}, errors.New("is not a URL of the form http://host:port/path")
	}
	if problem := problem(u); problem != "" {
		return rv.Endpoint{}, errors.New(problem)
	}
	port := u.Port()
	if port == "" {
		port = defaultPorts[u.Scheme]
	}
	return rv.Endpoint{
		Scheme:    u.Scheme,
		Authority: u.Host,
		Address:   net.JoinHostPort(u.Hostname(), port),
		BasePath:  strings.TrimRight(u.EscapedPath(), "/"),
	}, nil
}

// problem says what keeps a URL from being the base of requests, or nothing.
func problem(u *url.URL) string {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return noScheme
	case u.Opaque != "" || u.Hostname() == "":
		return "must have a host"
	case u.User != nil:
		return "must not have a user or password; send an authorization header instead"
	case u.Fragment != "" || u.RawFragment != "":
		return "must not have a fragment (#)"
	case u.RawQuery != "" || u.ForceQuery:
		return "must not have a query (?); it belongs to the path of a template"
	case !validHost(u):
		return "has a host that is neither a name nor an IP address"
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && !ValidPort(u.Port()):
		return "must have a port between 1 and 65535"
	case !octet.AllVisible(u.EscapedPath()):
		return "has a character in its path that must be percent-encoded"
	}
	return ""
}

func validHost(u *url.URL) bool {
	if strings.HasPrefix(u.Host, "[") {
		return net.ParseIP(u.Hostname()) != nil && strings.Contains(u.Hostname(), ":")
	}
	return len(u.Hostname()) <= maxHost && HostName.MatchString(u.Hostname())
}

// ValidPort says whether a port is a number from 1 to 65535.
func ValidPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
