package maock

import (
	"math"
	"strings"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/script"
)

const (
	defaultWeight = 100
	defaultStatus = 200
)

func (c *converter) response(o *convert.Object) rules.Response {
	defer o.End()
	weight, status := defaultWeight, int(o.Whole("status-code", defaultStatus))
	if o.Has("weight") {
		weight = int(o.Whole("weight", 0))
	} else {
		c.Warn(o.Path, "has no weight, which maock leaves to chance; taken for %d", defaultWeight)
	}
	r := rules.Response{Name: o.Text("name"), Weight: &weight, Status: &status}
	const digits = 1e6
	if share := math.Round(o.Number("throttle-ratio", 0)*digits) / (100 * digits); share != 0 {
		if share < 0 || share > 1 {
			c.Fail(o.At("throttle-ratio"), "is not between 0 and 100")
		}
		unanswered := rules.Ratio(share)
		r.Unanswered = &unanswered
	}
	t := &texts{c: c}
	for _, h := range o.List("additonalHeaders") {
		c.header(h, t, &r)
	}
	c.body(o.Child("payload"), t, &r, status)
	c.script(o, &r)
	if o.Flag("lua-offload") {
		c.Warn(o.At("lua-offload"), "the target runs scripts in its serving thread")
	}
	return r
}

func (c *converter) checkWeights(path string, list []rules.Response) {
	for _, r := range list {
		if *r.Weight != 0 {
			return
		}
	}
	for i := range list {
		one := 1
		list[i].Weight = &one
	}
	if len(list) > 0 {
		c.Warn(path, "all weights are 0; taken for equal")
	}
}

func (c *converter) body(o *convert.Object, t *texts, r *rules.Response, status int) {
	defer o.End()
	text := t.fill(o, c.fileOr(o.Text("msg-payload")))
	switch {
	case text == "":
	case status == 204 || status == 304:
		c.Warn(o.At("msg-payload"), "a response with status %d has no body; left out", status)
	default:
		r.Body = &text
	}
}

// header splits "name: value" at the first colon that does not begin it.
func (c *converter) header(o *convert.Object, t *texts, r *rules.Response) {
	defer o.End()
	line := o.Text("header")
	placeholder := o.Text("placeholder")
	at := -1
	if line != "" {
		at = strings.IndexByte(line[1:], ':') + 1
	}
	if at <= 0 {
		c.Fail(o.At("header"), "%q is not NAME:VALUE", line)
		return
	}
	name := strings.ToLower(strings.TrimSpace(line[:at]))
	if placeholder != "" && strings.Contains(line[:at], placeholder) {
		c.Fail(o.At("header"), "a placeholder in the name of a header has no counterpart")
		return
	}
	value := t.fillWith(o, line[at+1:], placeholder)
	switch {
	case strings.HasPrefix(name, ":"):
		c.Warn(o.At("header"), "%s is not a header field of a response; left out", name)
	case name == "content-length":
		c.Warn(o.At("header"), "the target computes content-length; left out")
	case name == "connection" || name == "keep-alive" || name == "transfer-encoding" || name == "upgrade" ||
		name == "proxy-connection":
		c.Warn(o.At("header"), "%s has no place in HTTP/2; left out", name)
	default:
		r.Headers = append(r.Headers, rules.Header{Name: name, Value: strings.TrimSpace(value)})
	}
}

func (c *converter) script(o *convert.Object, r *rules.Response) {
	source := c.fileOr(o.Text("luaScript"))
	if source == "" {
		return
	}
	if _, err := script.CompileCustomizer("luaScript", source); err != nil {
		c.Warn(o.At("luaScript"), "left out: %v", err)
		return
	}
	r.Script = &rules.Script{Lua: source}
}
