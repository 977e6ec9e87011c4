package ab

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

const (
	// timedRequests is what -t implies for -n.
	timedRequests = 50000
	// timeout is that of -s, in seconds.
	timeout = 30
)

type converter struct {
	*convert.Draft
	*flags
	url convert.URL
}

// Convert turns the arguments of a command line, without the program's name, into a manifest. Each
// warning and each line of the error begins with a flag.
func Convert(args []string, o convert.Options) (yaml []byte, warnings []string, err error) {
	d := convert.New("Converted from a command line of ab.", o)
	given, operands := d.Flags(args, known)
	c := &converter{Draft: d, flags: &flags{d.FlagValues(given, without), d}}
	if c.address(operands) {
		c.target()
		c.template()
		c.rates()
		c.Spec().Chains = []v1alpha1.Chain{{Name: "request", Target: "target", Steps: []v1alpha1.Step{{Template: "request"}}}}
	}
	return d.Manifest()
}

func (c *converter) address(operands []string) bool {
	u, user, ok := c.OneURL(operands)
	if user != nil {
		c.Warn("URL", "user and password are left out; -A has them")
	}
	c.url = u
	return ok
}

func (c *converter) target() {
	t := v1alpha1.Target{
		Name: "target", URL: c.url.Base(), Protocol: v1alpha1.ProtocolHTTP1, Connections: new(c.whole("-c", 1)),
	}
	if !c.Has("-k") {
		t.HTTP1 = &v1alpha1.HTTP1{KeepAlive: new(false)}
	}
	c.WarnAt("spec.targets[0].protocol", "HTTP/1.0", "ab speaks HTTP/1.0; here it is HTTP/1.1, without -k with a connection for each request")
	if local := c.Last["-B"]; local != "" {
		t.Connecting = &v1alpha1.Connecting{LocalAddresses: []string{local}}
	}
	if c.url.Scheme == "https" {
		c.tls(&t)
	}
	if user := c.Last["-A"]; user != "" {
		name, password, _ := strings.Cut(user, ":")
		secret := c.GatherSecret("basic", corev1.SecretTypeBasicAuth, map[string]string{
			corev1.BasicAuthUsernameKey: name, corev1.BasicAuthPasswordKey: password,
		})
		t.Auth = &v1alpha1.Auth{Basic: &v1alpha1.BasicAuth{SecretRef: &v1alpha1.SecretReference{Name: secret}}}
		c.WarnAt("spec.targets[0].auth", "-A", "the password stands in the Secret below; do not commit this file as it is")
	}
	for field, flag := range map[string]string{"": "URL", ".connections": "-c", ".connecting": "-B", ".tls": "-f"} {
		c.Origin("spec.targets[0]"+field, flag)
	}
	c.Spec().Targets = []v1alpha1.Target{t}
}

func (c *converter) tls(t *v1alpha1.Target) {
	t.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
	c.WarnAt("spec.targets[0].tls.insecureSkipVerify", "https", "ab never verifies certificates; without insecureSkipVerify the server's is verified")
	switch version := c.Last["-f"]; version {
	case "", "ALL":
	case "TLS1.2":
		t.TLS.MinVersion, t.TLS.MaxVersion = v1alpha1.TLS12, v1alpha1.TLS12
	case "TLS1.3":
		t.TLS.MinVersion, t.TLS.MaxVersion = v1alpha1.TLS13, v1alpha1.TLS13
	default:
		c.WarnAt("spec.targets[0].tls", "-f", "%s is not possible and left out; TLS1.2 and TLS1.3 are", version)
	}
	if file := c.Last["-E"]; file != "" {
		t.TLS.Certificate = &v1alpha1.ClientCertificate{Files: &v1alpha1.CertificateFiles{Certificate: file, Key: file}}
		c.WarnAt("spec.targets[0].tls.certificate", "-E", "is a path where the runner runs: in a cluster use secret")
	}
}

func (c *converter) rates() {
	requests := int64(c.whole("-n", 1))
	rate := v1alpha1.Rate{Name: "load", ClosedLoop: &v1alpha1.ClosedLoop{}}
	if c.Has("-t") {
		rate.Duration = convert.Given(time.Duration(c.whole("-t", 1)) * time.Second)
		if !c.Has("-n") {
			requests = timedRequests
			c.WarnAt("spec.rates[0].requests", "-t", "implies -n %d, which ends the test too", timedRequests)
		}
	}
	rate.Requests = &requests
	c.Origin("spec.rates", "-n, -t")
	c.Spec().Rates = []v1alpha1.Rate{rate}
}
