package curl

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

const headersAt = "spec.templates[0].headers"

func (c *converter) template() {
	t := v1alpha1.Template{Name: "request", Request: v1alpha1.Request{Method: "GET"}}
	for field, flag := range map[string]string{"": "URL", ".method": "--request", ".headers": "--header",
		".timeout": "--max-time", ".body": "--data"} {
		c.Origin("spec.templates[0]"+field, flag)
	}
	if limit := c.seconds("--max-time"); limit > 0 {
		t.Timeout = convert.Given(limit)
	}
	c.redirects(&t)
	removed := c.headers(&t)
	path := c.url.Path
	kind, flag, content := c.content()
	if _, boundary, isForm := strings.Cut(kind, "boundary="); isForm {
		bound(t.Headers, boundary)
	}
	switch {
	case c.has("--get") && flag != "":
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		path += separator + convert.EscapePath(string(content))
	case flag != "":
		t.Method = "POST"
		c.Body(&t, flag, "", content)
		c.standard(&t, removed, "content-type", kind)
	case c.has("--upload-file"):
		t.Method = "PUT"
		file := c.last["--upload-file"]
		path = uploaded(path, file)
		if content, ok := c.Read("--upload-file", file); ok {
			c.Body(&t, "--upload-file", file, content)
		}
	}
	if c.has("--json") {
		c.standard(&t, removed, "accept", "application/json")
	}
	if c.has("--head") {
		t.Method = "HEAD"
	}
	if method := c.last["--request"]; method != "" {
		t.Method = method
	}
	t.Path = convert.Literal(path)
	c.Spec().Templates = []v1alpha1.Template{t}
}

// redirects follows those that keep the method.
func (c *converter) redirects(t *v1alpha1.Template) {
	if !c.has("--location") {
		return
	}
	limit := 16
	if n, err := strconv.Atoi(c.last["--max-redirs"]); err == nil && n >= 0 && n < limit {
		limit = n
	}
	t.MaxRedirects = new(int32(limit))
	c.WarnAt("spec.templates[0].maxRedirects", "--location", "only redirects with status 307 and 308 are followed")
}

// headers adds the header fields of the flags. It returns the names of those that the user removed: "accept:" has no
// value.
func (c *converter) headers(t *v1alpha1.Template) (removed map[string]bool) {
	removed = map[string]bool{}
	for _, line := range c.all["--header"] {
		name, value, found := strings.Cut(line, ":")
		empty, isEmpty := strings.CutSuffix(line, ";")
		name = strings.TrimSpace(name)
		switch lower := strings.ToLower(name); {
		case strings.HasPrefix(line, "@"):
			c.Fail("--header", "the file of @FILE is not read; write the fields")
		case !found && isEmpty:
			c.header(t, "--header", strings.TrimSpace(empty), "")
		case !found || name == "":
			c.Fail("--header", "must be of the form 'name: value'") // not quoted: it may be a secret
		case strings.TrimSpace(value) == "":
			removed[lower] = true
		case lower == "host":
			c.host(value)
		case lower == "accept-encoding" && !c.Unsaved:
			c.Warn("accept-encoding", "is left out, so that bodies come as they are and can be checked; they are larger")
		default:
			c.header(t, "--header", name, strings.TrimSpace(value))
		}
	}
	for _, h := range []struct{ flag, name string }{{"--user-agent", "user-agent"}, {"--referer", "referer"}} {
		if value := c.last[h.flag]; value != "" {
			c.header(t, h.flag, h.name, value)
		}
	}
	if token := c.last["--oauth2-bearer"]; token != "" {
		c.header(t, "--oauth2-bearer", "authorization", "Bearer "+token)
	}
	if c.user != "" && c.Unsaved {
		c.header(t, "--user", "authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.user)))
	}
	var cookies []string
	for _, cookie := range c.all["--cookie"] {
		if !strings.Contains(cookie, "=") {
			c.Warn("--cookie", "a file of cookies is left out; write 'name=value'")
			continue
		}
		cookies = append(cookies, cookie)
	}
	if len(cookies) > 0 {
		c.header(t, "--cookie", "cookie", strings.Join(cookies, "; "))
	}
	return removed
}

func (c *converter) header(t *v1alpha1.Template, flag, name, value string) {
	if strings.EqualFold(name, "cookie") {
		c.WarnSaved(headersAt, flag, "the manifest contains the value of cookie, which every reader of the manifest can see; use valueFrom if it is secret")
	}
	if h, ok := c.Header(headersAt, flag, name, convert.Literal(value)); ok {
		t.Headers = append(t.Headers, h)
	}
}

// standard adds a field that curl sends unless the user sets or removes it.
func (c *converter) standard(t *v1alpha1.Template, removed map[string]bool, name, value string) {
	if value == "" || removed[name] {
		return
	}
	for _, h := range t.Headers {
		if strings.EqualFold(h.Name, name) {
			return
		}
	}
	c.header(t, "--data", name, value)
}

// host is the host of requests in place of that of the URL.
func (c *converter) host(value string) {
	u, ok := c.url.Named(strings.TrimSpace(value))
	if !ok {
		c.Fail("--header", "the host cannot be one")
		return
	}
	t := &c.Spec().Targets[0]
	if t.ConnectTo == "" && u.Authority != c.url.Authority {
		t.ConnectTo = c.url.Dialled()
	}
	t.URL = u.Base()
}
