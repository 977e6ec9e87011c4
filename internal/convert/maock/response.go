package maock

import (
	"math"
	"strings"

	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/script"
)

const (
	defaultWeight = 100
	defaultStatus = 200
)

func (c *converter) response(o *object) rules.Response {
	defer o.end()
	weight, status := defaultWeight, o.whole("status-code", defaultStatus)
	if o.has("weight") {
		weight = o.whole("weight", 0)
	} else {
		c.warn(o.path, "has no weight, which maock leaves to chance; taken for %d", defaultWeight)
	}
	r := rules.Response{Name: o.text("name"), Weight: &weight, Status: &status}
	const digits = 1e6
	if share := math.Round(o.number("throttle-ratio", 0)*digits) / (100 * digits); share != 0 {
		if share < 0 || share > 1 {
			c.mistake(o.at("throttle-ratio"), "is not between 0 and 100")
		}
		unanswered := rules.Ratio(share)
		r.Unanswered = &unanswered
	}
	t := &texts{c: c}
	for _, h := range o.list("additonalHeaders") {
		c.header(h, t, &r)
	}
	c.body(o.object("payload"), t, &r, status)
	c.script(o, &r)
	if o.flag("lua-offload") {
		c.warn(o.at("lua-offload"), "the target runs scripts in its serving thread")
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
		c.warn(path, "all weights are 0; taken for equal")
	}
}

func (c *converter) body(o *object, t *texts, r *rules.Response, status int) {
	defer o.end()
	text := t.fill(o, c.fileOr(o.text("msg-payload")))
	switch {
	case text == "":
	case status == 204 || status == 304:
		c.warn(o.at("msg-payload"), "a response with status %d has no body; left out", status)
	default:
		r.Body = &text
	}
}

// header splits "name: value" at the first colon that does not begin it.
func (c *converter) header(o *object, t *texts, r *rules.Response) {
	defer o.end()
	line := o.text("header")
	placeholder := o.text("placeholder")
	at := -1
	if line != "" {
		at = strings.IndexByte(line[1:], ':') + 1
	}
	if at <= 0 {
		c.mistake(o.at("header"), "%q is not NAME:VALUE", line)
		return
	}
	name := strings.ToLower(strings.TrimSpace(line[:at]))
	if placeholder != "" && strings.Contains(line[:at], placeholder) {
		c.mistake(o.at("header"), "a placeholder in the name of a header has no counterpart")
		return
	}
	value := t.fillWith(o, line[at+1:], placeholder)
	switch {
	case strings.HasPrefix(name, ":"):
		c.warn(o.at("header"), "%s is not a header field of a response; left out", name)
	case name == "content-length":
		c.warn(o.at("header"), "the target computes content-length; left out")
	case name == "connection" || name == "keep-alive" || name == "transfer-encoding" || name == "upgrade" ||
		name == "proxy-connection":
		c.warn(o.at("header"), "%s has no place in HTTP/2; left out", name)
	default:
		r.Headers = append(r.Headers, rules.Header{Name: name, Value: strings.TrimSpace(value)})
	}
}

func (c *converter) script(o *object, r *rules.Response) {
	source := c.fileOr(o.text("luaScript"))
	if source == "" {
		return
	}
	if _, err := script.CompileCustomizer("luaScript", source); err != nil {
		c.warn(o.at("luaScript"), "left out: %v", err)
		return
	}
	r.Script = &rules.Script{Lua: source}
}
