package curl

import (
	"cmp"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/runner/location"
)

type converter struct {
	*convert.Draft
	flagValues
	given []Flag
	url   convert.URL
	// user is that of the URL, or of --user.
	user string
}

// Convert turns the arguments of a command line, without the program's name, into a manifest. Each warning and each
// line of the error begins with a flag.
func Convert(args []string, o convert.Options) (yaml []byte, warnings []string, err error) {
	d := convert.New("Converted from a command line of curl.", o)
	given, operands := parseFlags(d, args)
	c := &converter{Draft: d, flagValues: values(d, given), given: given}
	if c.has("--http3") {
		c.Fail("--http3", "HTTP/3 is not supported")
	}
	if c.address(append(operands, c.all["--url"]...)) {
		c.target()
		c.template()
		c.WarnAt("spec.rates", "rates", "curl sends one request; set the rate that you want here")
		c.Spec().Rates = []v1alpha1.Rate{{Name: "load", RequestsPerSecond: new(int64(10)),
			Duration: convert.Given(time.Minute)}}
		c.Spec().Chains = []v1alpha1.Chain{{Name: "request", Target: "target", Steps: []v1alpha1.Step{{Template: "request"}}}}
	}
	return d.Manifest()
}

func (c *converter) address(urls []string) bool {
	u, user, ok := c.OneURL(urls)
	if !ok {
		return false
	}
	if user != nil {
		password, _ := user.Password()
		c.user = user.Username() + ":" + password
	}
	if c.has("--user") {
		c.user = c.last["--user"]
	}
	if strings.ContainsAny(u.Path, "{[") && !c.has("--globoff") {
		c.Warn("URL", "{...} and [...] are sent as they are; curl would make several URLs of them")
	}
	if !c.has("--path-as-is") {
		u.Path = withoutDots(u.Path)
	}
	c.url = u
	return true
}

// withoutDots removes the dot segments of a path, which can have a query (RFC 3986 5.2.4). As in curl, a dot of
// them can be percent-encoded.
func withoutDots(path string) string {
	query := strings.IndexByte(path+"?", '?')
	segments := strings.Split(path[:query], "/")
	for i, s := range segments {
		if dots := strings.ReplaceAll(strings.ToLower(s), "%2e", "."); dots == "." || dots == ".." {
			segments[i] = dots
		}
	}
	path = strings.Join(segments, "/") + path[query:]
	// A complete reference takes nothing of a base. Its host does not matter here.
	_, ref, err := location.AppendResolved(nil, nil, nil, nil, []byte("http://host"+path))
	if err != nil { // SplitURL has escaped what a reference must not have
		return path
	}
	return string(ref.Path)
}

func (c *converter) target() {
	t := v1alpha1.Target{Name: "target", URL: c.url.Base()}
	secure := c.url.Scheme == "https"
	switch {
	case c.has("--http1.1"), !secure && !c.has("--http2-prior-knowledge"):
		t.Protocol = v1alpha1.ProtocolHTTP1
	case !secure:
		t.Protocol = v1alpha1.ProtocolH2C
	case c.has("--http2-prior-knowledge"):
		t.Protocol = v1alpha1.ProtocolH2
	}
	if secure {
		t.TLS = c.tls()
	}
	t.ConnectTo = c.connectTo()
	if limit := c.seconds("--connect-timeout"); limit > 0 {
		t.ConnectTimeout = convert.Given(limit)
	}
	if c.user != "" && !c.Unsaved {
		name, password, _ := strings.Cut(c.user, ":")
		secret := c.GatherSecret("basic", corev1.SecretTypeBasicAuth, map[string]string{
			corev1.BasicAuthUsernameKey: name, corev1.BasicAuthPasswordKey: password,
		})
		t.Auth = &v1alpha1.Auth{Basic: &v1alpha1.BasicAuth{SecretRef: &v1alpha1.SecretReference{Name: secret}}}
		c.WarnAt("spec.targets[0].auth", "--user", "the password is in the Secret below; do not commit this file as it is")
	}
	for field, flag := range map[string]string{"": "URL", ".tls": "--cacert, --cert", ".connectTo": "--resolve",
		".connectTimeout": "--connect-timeout"} {
		c.Origin("spec.targets[0]"+field, flag)
	}
	c.Spec().Targets = []v1alpha1.Target{t}
}

// tls returns nil if the defaults apply.
func (c *converter) tls() *v1alpha1.TLS {
	t := v1alpha1.TLS{InsecureSkipVerify: c.has("--insecure")}
	if file := c.last["--cacert"]; file != "" {
		t.CAFrom = &v1alpha1.ContentSource{File: file}
		c.WarnSaved("spec.targets[0].tls.caFrom", "--cacert",
			"is a path on the machine of the runner: in a cluster, use configMapKeyRef")
	}
	if file := c.last["--cert"]; file != "" {
		file, password, _ := strings.Cut(file, ":")
		if password != "" {
			c.Warn("--cert", "the password is left out; keys with passwords are not supported")
		}
		key := cmp.Or(c.last["--key"], file)
		t.Certificate = &v1alpha1.ClientCertificate{Files: &v1alpha1.CertificateFiles{Certificate: file, Key: key}}
		c.WarnSaved("spec.targets[0].tls.certificate", "--cert",
			"is a path on the machine of the runner: in a cluster, use secretRef")
	}
	switch {
	case c.has("--tlsv1.3"):
		t.MinVersion = v1alpha1.TLS13
	case c.has("--tlsv1.2"):
		t.MinVersion = v1alpha1.TLS12
	}
	if !t.InsecureSkipVerify && t.CAFrom == nil && t.Certificate == nil && t.MinVersion == "" {
		return nil
	}
	return &t
}

// connectTo returns where the connections go, if not to the host of the URL.
func (c *converter) connectTo() string {
	host, port, _ := net.SplitHostPort(c.url.Dialled())
	if socket := c.last["--unix-socket"]; socket != "" {
		return "unix:" + socket
	}
	for _, entry := range c.all["--connect-to"] {
		if part := addresses(entry); len(part) == 4 && (part[0] == "" || strings.EqualFold(part[0], host)) &&
			(part[1] == "" || part[1] == port) {
			return net.JoinHostPort(cmp.Or(part[2], host), cmp.Or(part[3], port))
		}
		c.Warn("--connect-to", "an entry is not about the URL, and left out")
	}
	for _, entry := range c.all["--resolve"] {
		part := addresses(strings.TrimPrefix(entry, "+"))
		if len(part) >= 3 && (part[0] == "*" || strings.EqualFold(part[0], host)) && part[1] == port {
			to, _, more := strings.Cut(strings.Join(part[2:], ":"), ",")
			if more {
				c.WarnAt("spec.targets[0].connectTo", "--resolve", "only the first address is used")
			}
			return net.JoinHostPort(strings.Trim(to, "[]"), port)
		}
		c.Warn("--resolve", "an entry is not about the URL, and left out")
	}
	return ""
}

// addresses splits at colons that are not in brackets.
func addresses(s string) (out []string) {
	for s != "" || len(out) == 0 {
		skip := 0
		if strings.HasPrefix(s, "[") {
			skip = strings.IndexByte(s, ']') + 1
		}
		i := strings.IndexByte(s[skip:], ':')
		if i < 0 {
			return append(out, strings.Trim(s, "[]"))
		}
		out = append(out, strings.Trim(s[:skip+i], "[]"))
		if s = s[skip+i+1:]; s == "" {
			return append(out, "")
		}
	}
	return out
}

// seconds is a number of seconds, with decimals.
func (c *converter) seconds(name string) time.Duration {
	text, has := c.last[name]
	if !has {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	d, ok := convert.Seconds(n)
	if err != nil || !ok || d <= 0 {
		c.Fail(name, "must be a number of seconds above 0")
		return 0
	}
	return d
}
