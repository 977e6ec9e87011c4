package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/roots"
)

// ClientConfigs returns the TLS configurations of the targets of a plan, each by client as ClientConfig does; a single
// nil: the target has no TLS. It reports the mistakes of all targets.
func ClientConfigs(plan *rv.Plan, keyLog io.Writer) (out [][]*tls.Config, errs []*rv.PlanError) {
	out = make([][]*tls.Config, len(plan.Targets))
	for i := range plan.Targets {
		t := plan.Targets[i].TLS
		if t == nil {
			out[i] = []*tls.Config{nil}
			continue
		}
		var err error
		if out[i], err = ClientConfig(t, keyLog); err != nil {
			e := rv.InField("tls", err).(*rv.PlanError) //nolint:errorlint // InField returns one
			e.List, e.Index = rv.PlaceTargets, i
			errs = append(errs, e)
		}
	}
	return out, errs
}

// ClientConfig makes the TLS configurations of a target: one for each client certificate, or one if there is none. It
// reads the files that the plan names, so that a missing or broken one is an error before any load. keyLog gets the
// session keys that decrypt captures, as the file SSLKEYLOGFILE of other clients; nil: they are not written.
func ClientConfig(t *rv.TLS, keyLog io.Writer) ([]*tls.Config, error) {
	c := &tls.Config{
		ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify, //nolint:gosec // the user asked for it, and the default is false
		NextProtos: t.ALPN, KeyLogWriter: keyLog,
		// Small first records save a browser's first paint and cost us system calls.
		DynamicRecordSizingDisabled: true,
		Renegotiation:               tls.RenegotiateNever,
	}
	var err error
	if c.MinVersion, err = version(t.MinVersion); err != nil {
		return nil, rv.InField("minVersion", err)
	}
	if c.MaxVersion, err = version(t.MaxVersion); err != nil {
		return nil, rv.InField("maxVersion", err)
	}
	if c.MinVersion > c.MaxVersion {
		return nil, rv.InField("minVersion", fmt.Errorf("%s is above maxVersion %s", t.MinVersion, t.MaxVersion))
	}
	if c.CipherSuites, err = suites(t.CipherSuites); err != nil {
		return nil, rv.InField("cipherSuites", err)
	}
	if c.CurvePreferences, err = curves(t.Curves); err != nil {
		return nil, rv.InField("curves", err)
	}
	if t.CAFile != "" {
		if c.RootCAs, err = authorities(t.CAFile); err != nil {
			return nil, rv.InField("caFile", err)
		}
	} else if !t.InsecureSkipVerify {
		roots.Use()
	}
	return clients(c, t)
}

// clients returns c for each client certificate. Each client has sessions of its own.
func clients(c *tls.Config, t *rv.TLS) (out []*tls.Config, err error) {
	all := []*Pair{nil} // no certificate
	switch {
	case t.CertDirectory != "":
		if all, err = pairs(t.CertDirectory); err != nil {
			return nil, rv.InField("certDirectory", err)
		}
	case t.CertFile != "" || t.KeyFile != "":
		if all[0], err = ReadPair(t.CertFile, t.KeyFile); err != nil {
			return nil, rv.InField("certFile", err)
		}
	}
	for _, pair := range all {
		client := c.Clone()
		if pair != nil {
			client.GetClientCertificate = pair.forServer
		}
		if t.SessionResumption {
			client.ClientSessionCache = tls.NewLRUClientSessionCache(0)
		}
		out = append(out, client)
	}
	return out, nil
}

// maxPairs bounds the certificates of a directory.
const maxPairs = 10_000

// pairs reads the certificates of a directory and their keys, in the order of their names.
func pairs(dir string) (out []*Pair, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.crt"))
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no file *.crt", dir)
	case len(names) > maxPairs:
		return nil, fmt.Errorf("%s has %d files *.crt; allowed: at most %d", dir, len(names), maxPairs)
	}
	for _, name := range names {
		pair, err := ReadPair(name, strings.TrimSuffix(name, ".crt")+".key")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		out = append(out, pair)
	}
	return out, nil
}

// authorities reads certificates to trust.
func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("contains no certificate")
	}
	return pool, nil
}

func version(s string) (uint16, error) {
	switch s {
	case "1.2":
		return tls.VersionTLS12, nil
	case "1.3":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%q is neither 1.2 nor 1.3", s)
}

// suites knows Go's insecure ones too: some servers have no others.
func suites(names []string) ([]uint16, error) {
	var ids []uint16
	all := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *tls.CipherSuite) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is not known", name)
		}
		if !slices.Contains(all[i].SupportedVersions, uint16(tls.VersionTLS12)) {
			return nil, fmt.Errorf("%q belongs to TLS 1.3, whose suites cannot be chosen", name)
		}
		ids = append(ids, all[i].ID)
	}
	return ids, nil
}

// groups are the key exchanges of crypto/tls by their names in the API.
var groups = map[string]tls.CurveID{
	"X25519": tls.X25519, "X25519MLKEM768": tls.X25519MLKEM768,
	"P-256": tls.CurveP256, "P-384": tls.CurveP384, "P-521": tls.CurveP521,
}

func curves(names []string) ([]tls.CurveID, error) {
	var ids []tls.CurveID
	for _, name := range names {
		id, ok := groups[name]
		if !ok {
			return nil, fmt.Errorf("%q is not known", name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// serverName is the default: the authority without its port.
func serverName(authority string) string {
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = authority
	}
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return host
}
