package ab

import (
	"strings"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

func (c *converter) template() {
	t := v1alpha1.Template{
		Name: "request",
		Request: v1alpha1.Request{
			Method: c.method(), Path: convert.Literal(c.url.Path),
			Timeout: convert.Given(time.Duration(c.whole("-s", timeout)) * time.Second),
		},
	}
	at := "spec.templates[0]"
	c.Origin(at, "-H")
	c.Origin(at+".path", "URL")
	c.Origin(at+".method", "-m")
	c.Origin(at+".timeout", "-s")
	for _, flag := range []string{"-p", "-u"} {
		if file := c.Last[flag]; file != "" {
			if content, ok := c.Read(flag, file); ok {
				c.Body(&t, flag, file, content)
			}
			c.Origin(at+".body", flag)
		}
	}
	c.headers(&t)
	if cookies := c.All["-C"]; len(cookies) > 0 {
		t.Headers = append(t.Headers, v1alpha1.Header{Name: "cookie", Value: new(convert.Literal(strings.Join(cookies, "; ")))})
	}
	if !c.Has("-l") {
		c.WarnAt(at, "-l", "is not there, so ab counts responses of another length than the first as failed; here their length does not matter, unless expect.checks has a bodySize")
	}
	c.WarnAt(at, "Non-2xx responses", "are not failures in ab; here, status 400 and above is a failure")
	c.Spec().Templates = []v1alpha1.Template{t}
}

func (c *converter) method() string {
	method := "GET"
	switch {
	case c.Has("-i"):
		method = "HEAD"
	case c.Has("-p"):
		method = "POST"
	case c.Has("-u"):
		method = "PUT"
	}
	if c.Has("-p") && c.Has("-u") {
		c.Fail("-u", "excludes -p")
	}
	if c.Has("-m") {
		method = c.Last["-m"]
	}
	return method
}

func (c *converter) headers(t *v1alpha1.Template) {
	at := "spec.templates[0].headers"
	typed := false
	for _, line := range c.All["-H"] {
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !found || name == "" {
			c.Fail("-H", "must be of the form 'name: value'") // not quoted: it may be a secret
			continue
		}
		if strings.EqualFold(name, "host") {
			c.host(value)
			continue
		}
		typed = typed || strings.EqualFold(name, "content-type")
		if h, ok := c.Header(at, "-H", name, convert.Literal(strings.TrimSpace(value))); ok {
			t.Headers = append(t.Headers, h)
		}
	}
	if kind := c.Last["-T"]; kind != "" || (c.Has("-p") || c.Has("-u")) && !typed {
		if kind == "" {
			kind = "text/plain" // ab's own default
		}
		t.Headers = append(t.Headers, v1alpha1.Header{Name: "content-type", Value: new(convert.Literal(kind))})
	}
}

// host is what requests name in place of the host that is dialled.
func (c *converter) host(value string) {
	u, ok := c.url.Named(strings.TrimSpace(value))
	if !ok {
		c.Fail("-H", "the host cannot be one")
		return
	}
	t := &c.Spec().Targets[0]
	t.ConnectTo, t.URL = c.url.Dialled(), u.Base()
	c.WarnAt("spec.targets[0].url", "-H", "the host that requests name is that of the target's url; connectTo says where it is")
}
