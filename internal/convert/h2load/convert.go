package h2load

import (
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// target is the name of the one target.
const target = "target"

type converter struct {
	*convert.Draft
	*flags
	urls []convert.URL
}

// Convert turns the arguments of a command line, without the program's name, into a manifest. Each
// warning and each line of the error begins with a flag.
func Convert(args []string, o convert.Options) (yaml []byte, warnings []string, err error) {
	d := convert.New("Converted from a command line of h2load.", o)
	given, operands := d.Flags(args, known)
	c := &converter{Draft: d, flags: &flags{d.FlagValues(given, without), d}}
	if c.Has("--h3") || strings.HasPrefix(c.Last["--alpn-list"], "h3") {
		c.Fail("--h3", "HTTP/3 is not spoken")
	}
	if c.addresses(operands) {
		c.target()
		c.requests()
		c.rates()
	}
	return d.Manifest()
}

// addresses finds out what is requested. It is false when there is nothing.
func (c *converter) addresses(operands []string) bool {
	raw := operands
	for _, name := range []string{"--timing-script-file", "--input-file"} {
		if !c.Has(name) {
			continue
		}
		content, ok := c.Read(name, c.Last[name])
		if !ok {
			return false
		}
		raw = append(raw, c.lines(name, content)...)
	}
	if len(raw) == 0 {
		c.Fail("URI", "is needed")
		return false
	}
	base := convert.URL{}
	if b := c.Last["--base-uri"]; b != "" && !strings.HasPrefix(b, "unix:") {
		u, _, err := convert.SplitURL(b)
		if err != nil {
			c.Fail("--base-uri", "%v", err)
			return false
		}
		base = u
	}
	for i, r := range raw {
		if !c.address(i, r, &base) {
			return false
		}
	}
	return true
}

// address adds one. Only the first says where it goes, unless -B does.
func (c *converter) address(i int, raw string, base *convert.URL) bool {
	if strings.HasPrefix(raw, "/") && base.Scheme != "" {
		path, _, _ := strings.Cut(raw, "#")
		c.urls = append(c.urls, convert.URL{Scheme: base.Scheme, Authority: base.Authority, Path: convert.EscapePath(path)})
		return true
	}
	u, user, err := convert.SplitURL(raw)
	if err != nil {
		c.Fail("URI", "number %d %v", i+1, err)
		return false
	}
	if user != nil {
		c.Warn("URI", "user and password are left out, as h2load does")
	}
	if base.Scheme == "" {
		*base = u
	}
	if u.Base() != base.Base() {
		c.Warn("URI", "all requests go to %s, as h2load sends them; a LoadTest could have several targets", base.Authority)
	}
	c.urls = append(c.urls, convert.URL{Scheme: base.Scheme, Authority: base.Authority, Path: u.Path})
	return true
}

// lines of a file; those of a timing script have a time before the URI.
func (c *converter) lines(name string, content []byte) (out []string) {
	timed := name == "--timing-script-file"
	if timed {
		c.Warn(name, "the times in it are not kept: its URIs are requested in turn, at the rate of the test")
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if timed {
			if _, uri, found := strings.Cut(line, "\t"); found {
				line = strings.TrimSpace(uri)
			}
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

func (c *converter) rates() {
	warmUp, duration := c.span("--warm-up-time"), c.span("--duration")
	if duration == 0 && warmUp > 0 {
		c.WarnAt("spec.rates", "--warm-up-time", "has no meaning without -D and is left out")
		warmUp = 0
	}
	if duration > 0 && c.Has("--requests") {
		c.Warn("--requests", "is ignored with -D and left out")
	}
	rates := convert.Stages(warmUp, duration, c.whole("--requests", 1))
	clients := c.whole("--clients", 1)
	each := c.decimal("--rps")
	for i := range rates {
		if !convert.SetRate(&rates[i], each*float64(clients)) {
			c.Fail("--rps", "%g for each of %d clients is a rate that no stage can have", each, clients)
		}
	}
	if each > 0 && clients > 1 {
		c.WarnAt("spec.rates", "--rps", "is for each client; here the rate is that of all %d together", clients)
	}
	c.Spec().Rates = rates
	c.Origin("spec.rates", "-n, -D")
	if threads := c.whole("--threads", 1); threads > 1 {
		c.Spec().Runner = v1alpha1.Runner{CPUsPerShard: new(c.small("--threads", 1))}
		c.WarnAt("spec.runner", "--threads", "are workers on CPUs of their own, which the pod asks for")
		c.Origin("spec.runner", "-t")
	}
}
