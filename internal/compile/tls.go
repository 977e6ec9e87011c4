package compile

import (
	"crypto/tls"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
)

const (
	alpnH2    = "h2"
	alpnHTTP1 = "http/1.1"
)

// tls fills out.TLS. A target of http has none; one of https always has, whether or not the spec
// says anything about it. A list of one ALPN protocol settles the target's protocol.
func (c *checker) tls(at *field.Path, t *v1alpha1.Target, out *runnerv1alpha1.Target) {
	given := t.TLS
	if len(out.Endpoints) == 0 {
		return // it is not known what was meant
	}
	if out.Endpoints[0].Scheme != "https" {
		if given != nil {
			c.fail(at, "tls needs an https url")
		}
		return
	}
	if given == nil {
		given = &v1alpha1.TLS{MinVersion: v1alpha1.TLS12, MaxVersion: v1alpha1.TLS13}
	}
	out.TLS = &runnerv1alpha1.TLS{
		ServerName:         c.serverName(at.Child("serverName"), given.ServerName),
		InsecureSkipVerify: given.InsecureSkipVerify,
		MinVersion:         string(given.MinVersion),
		MaxVersion:         string(given.MaxVersion),
		CipherSuites:       c.cipherSuites(at.Child("cipherSuites"), given),
		Curves:             orNil(given.Curves),
		ALPN:               c.alpn(at, given.ALPN, t.Protocol, out),
		SessionResumption:  given.SessionResumption,
		EarlyData:          c.earlyData(at.Child("earlyData"), given, out.Protocol),
	}
	if given.MinVersion > given.MaxVersion {
		c.fail(at, "minVersion must not be above maxVersion")
	}
	c.trust(at, given, out.TLS)
}

// earlyData returns which requests are sent before a handshake is complete.
func (c *checker) earlyData(path *field.Path, given *v1alpha1.TLS, p runnerv1alpha1.Protocol) runnerv1alpha1.EarlyData {
	if given.EarlyData == "" || given.EarlyData == v1alpha1.EarlyDataNone {
		return ""
	}
	if p != runnerv1alpha1.ProtocolH3 {
		c.fail(path, "%s needs protocol h3", given.EarlyData)
	}
	if !given.SessionResumption {
		c.fail(path, "%s needs sessionResumption: true", given.EarlyData)
	}
	return runnerv1alpha1.EarlyData(given.EarlyData)
}

// trust fills in the files of certificates and keys.
func (c *checker) trust(at *field.Path, given *v1alpha1.TLS, out *runnerv1alpha1.TLS) {
	if given.CAFrom != nil {
		out.CAFile = c.contentSource(at.Child("caFrom"), given.CAFrom)
		if given.InsecureSkipVerify {
			c.warn(at.Child("caFrom"), "is not used, because insecureSkipVerify accepts any certificate")
		}
	}
	out.CertDirectory = c.file(at.Child("certificateDirectory"), given.CertificateDirectory)
	if given.CertificateDirectory != "" && given.Certificate != nil {
		c.fail(at.Child("certificateDirectory"), "cannot be used with certificate")
	}
	if given.Certificate != nil {
		out.CertFile, out.KeyFile = c.clientCertificate(at.Child("certificate"), given.Certificate)
	}
}

func (c *checker) serverName(path *field.Path, name string) string {
	if name == "" {
		return name
	}
	if _, err := netip.ParseAddr(name); err != nil && !endpoint.HostName.MatchString(name) {
		c.fail(path, "must be a host name or an IP address, without a port")
	}
	return name
}

// cipherSuites knows what runner/dial knows: also the suites that Go calls insecure, since some
// servers have no others.
func (c *checker) cipherSuites(path *field.Path, given *v1alpha1.TLS) []string {
	if len(given.CipherSuites) > 0 && given.MinVersion == v1alpha1.TLS13 {
		c.fail(path, "cipherSuites need minVersion 1.2, because TLS 1.3 has fixed cipher suites")
	}
	known := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
	for i, name := range given.CipherSuites {
		at := path.Index(i)
		k := slices.IndexFunc(known, func(s *tls.CipherSuite) bool { return s.Name == name })
		switch {
		case k < 0:
			c.fail(at, "%s", patternMessages[schemaOf("targets.tls.cipherSuites").Items.Pattern])
		case !slices.Contains(known[k].SupportedVersions, uint16(tls.VersionTLS12)):
			c.fail(at, "belongs to TLS 1.3; allowed: suites of TLS 1.2")
		}
	}
	return orNil(given.CipherSuites)
}

// alpn is what is offered: what the spec says, else what fits the protocol (RFC 7301 3.1).
func (c *checker) alpn(at *field.Path, list []string, p v1alpha1.Protocol, out *runnerv1alpha1.Target) []string {
	path := at.Child("alpn")
	index := map[string]int{}
	for i, name := range list {
		c.unique(path.Index(i), index, name, i)
	}
	if len(list) > 0 && p != v1alpha1.ProtocolAuto {
		c.fail(at, "alpn needs protocol Auto; h2 and http1 offer one protocol each")
	}
	if len(list) == 1 && out.Protocol == runnerv1alpha1.ProtocolALPN {
		out.Protocol = map[string]runnerv1alpha1.Protocol{
			alpnH2: runnerv1alpha1.ProtocolH2, alpnHTTP1: runnerv1alpha1.ProtocolHTTP1,
		}[list[0]]
	}
	switch {
	case len(list) > 0:
		return list
	case out.Protocol == runnerv1alpha1.ProtocolH2:
		return []string{alpnH2}
	case out.Protocol == runnerv1alpha1.ProtocolH3:
		return []string{alpnH3}
	case out.Protocol == runnerv1alpha1.ProtocolHTTP1:
		return []string{alpnHTTP1}
	}
	return []string{alpnH2, alpnHTTP1}
}
