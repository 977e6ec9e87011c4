package compile

import (
	"net"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// maxSocketPath is the maximum length of a path in Linux's sockaddr_un, without the final zero byte.
const maxSocketPath = 107

func (c *compiler) targets() {
	path := field.NewPath("spec", "targets")
	c.targetIndex = map[string]int{}
	for i := range c.spec.Targets {
		t := &c.spec.Targets[i]
		at := path.Index(i)
		c.targetIndex[t.Name] = i
		place := runnerv1alpha1.Place{List: runnerv1alpha1.PlaceTargets, Index: i}
		c.place(place, at)
		c.place(place.In("tls.caFile", -1), at.Child("tls", "caFrom"))
		c.place(place.In("tls.certFile", -1), at.Child("tls", "certificate"))
		c.place(place.In("tls.certDirectory", -1), at.Child("tls", "certificateDirectory"))
		c.plan.Targets = append(c.plan.Targets, c.target(at, t))
	}
	c.tokenEndpoints()
}

func (c *compiler) target(at *field.Path, t *v1alpha1.Target) runnerv1alpha1.Target {
	out := runnerv1alpha1.Target{
		Name:                 t.Name,
		Endpoints:            c.endpoints(at, t),
		Connections:          int(*t.Connections),
		MaxConcurrentStreams: int(t.MaxConcurrentStreams),
		Batch:                t.ConnectionChoice == v1alpha1.ConnectionChoiceBatch,
		ConnectTimeout:       t.ConnectTimeout.Duration,
	}
	if *t.Connections < c.spec.Runner.Shards {
		c.fail(at.Child("connections"), "must be at least runner.shards, one for each shard")
	}
	if len(out.Endpoints) > 0 {
		out.Protocol = c.protocol(at.Child("protocol"), t.Protocol, out.Endpoints[0].Scheme)
		if t.SBI != nil && out.Protocol == runnerv1alpha1.ProtocolDiscovered {
			out.Protocol = runnerv1alpha1.ProtocolH2C // network functions use HTTP/2 (TS 29.500 5.2.1)
		}
	}
	if t.FollowAltSvc {
		c.altSvc(at, t, &out)
	}
	c.protos(at.Child("protoFrom"), t, &out)
	c.tls(at.Child("tls"), t, &out)
	c.http2(at.Child("http2"), t.HTTP2, &out)
	c.http1(at.Child("http1"), t.HTTP1, &out)
	if t.SBI != nil && (out.Protocol == runnerv1alpha1.ProtocolHTTP1 || out.Protocol == runnerv1alpha1.ProtocolH3) {
		c.warn(at.Child("sbi"), "the target uses %s, and network functions use HTTP/2 (TS 29.500 5.2.1)",
			out.Protocol.HTTP())
	}
	if out.Protocol == runnerv1alpha1.ProtocolH3 {
		c.http3(at, t)
	}
	c.connecting(at.Child("connecting"), t, &out)
	out.FollowAuthority = t.FollowAuthority != v1alpha1.FollowNever
	out.FollowWithCredentials = t.FollowAuthority == v1alpha1.FollowWithCredentials
	if t.Auth != nil {
		out.Auth = c.auth(at.Child("auth"), t.Auth)
	}
	if t.ClientAssertion != nil {
		out.ClientAssertion = c.clientAssertion(at.Child("clientAssertion"), t.ClientAssertion)
	}
	if out.FollowWithCredentials && t.Auth == nil && t.ClientAssertion == nil {
		c.fail(at.Child("followAuthority"), "WithCredentials needs auth or clientAssertion")
	}
	return out
}

// endpoints parses the URLs and returns the valid ones.
func (c *compiler) endpoints(at *field.Path, t *v1alpha1.Target) []runnerv1alpha1.Endpoint {
	urls, paths := []string{t.URL}, []*field.Path{at.Child("url")}
	if (t.URL != "") == (t.URLs != nil) {
		return nil
	}
	if t.URLs != nil {
		urls, paths = t.URLs, nil
		for i := range urls {
			paths = append(paths, at.Child("urls").Index(i))
		}
	}
	dial := c.connectTo(at.Child("connectTo"), t.ConnectTo)
	var out []runnerv1alpha1.Endpoint
	place := runnerv1alpha1.Place{List: runnerv1alpha1.PlaceTargets, Index: len(c.plan.Targets)}
	for i := range urls {
		c.place(place.In("endpoints", i), paths[i])
		e, ok := c.endpoint(paths[i], urls[i])
		if !ok {
			continue
		}
		if len(out) > 0 && e.Scheme != out[0].Scheme {
			c.fail(paths[i], "all urls of a target must have the same scheme")
		}
		if dial != "" {
			e.Address = dial
		}
		out = append(out, e)
	}
	return out
}

// endpoint parses a URL. The runners parse a URL that has placeholders.
func (c *compiler) endpoint(path *field.Path, raw string) (e runnerv1alpha1.Endpoint, ok bool) {
	if raw == "" {
		return e, false
	}
	pieces, err := syntax.Parse(raw)
	if err != nil {
		c.fail(path, "%s", err.Error())
		return e, false
	}
	if len(pieces) != 1 || pieces[0].Ref != nil {
		return c.variedEndpoint(path, pieces)
	}
	if e, err = endpoint.Parse(pieces[0].Literal); err != nil {
		c.fail(path, "%s", err.Error())
	}
	return e, err == nil
}

// connectTo checks an address to dial and returns it. It returns "" if no address is set or the address is wrong.
func (c *checker) connectTo(path *field.Path, address string) string {
	if address == "" {
		return ""
	}
	if socket, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		switch {
		case !strings.HasPrefix(socket, "/") || strings.ContainsRune(socket, 0):
			c.fail(path, "must be unix: and an absolute path")
			return ""
		case len(socket) > maxSocketPath:
			c.fail(path, "has a socket path of %d bytes, at most %d are possible", len(socket), maxSocketPath)
			return ""
		}
		return address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !endpoint.ValidPort(port) || net.ParseIP(host) == nil && !endpoint.HostName.MatchString(host) {
		c.fail(path, "must be host:port (an IPv6 host in brackets) or unix:/path")
		return ""
	}
	return net.JoinHostPort(host, port)
}

// protocol returns the protocol of a target, from the field protocol and the scheme of its URL.
func (c *checker) protocol(path *field.Path, p v1alpha1.Protocol, scheme string) runnerv1alpha1.Protocol {
	tls := scheme == "https"
	switch {
	case p == v1alpha1.ProtocolAuto && tls:
		return runnerv1alpha1.ProtocolALPN
	case p == v1alpha1.ProtocolAuto:
		return runnerv1alpha1.ProtocolDiscovered
	case p == v1alpha1.ProtocolH2C && !tls:
		return runnerv1alpha1.ProtocolH2C
	case p == v1alpha1.ProtocolHTTP1:
		return runnerv1alpha1.ProtocolHTTP1
	case p == v1alpha1.ProtocolH2 && tls:
		return runnerv1alpha1.ProtocolH2
	case p == v1alpha1.ProtocolH3 && tls:
		return runnerv1alpha1.ProtocolH3
	case p == v1alpha1.ProtocolH3:
		c.fail(path, "h3 is HTTP/3 over QUIC, which always uses TLS: it needs an https url")
	case p == v1alpha1.ProtocolH2:
		c.fail(path, "h2 is HTTP/2 over TLS and needs an https url; h2c is the one without TLS")
	case p == v1alpha1.ProtocolH2C:
		c.fail(path, "h2c is HTTP/2 without TLS and needs an http url; h2 is the one over TLS")
	}
	return ""
}
