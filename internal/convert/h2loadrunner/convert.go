package h2loadrunner

import (
	"fmt"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// converter is what the parts of a conversion share.
var format = &convert.Format{Unknown: "is not a field of h2loadrunner; left out, as h2loadrunner does"}

type converter struct {
	*convert.Draft
	top *convert.Object
	// origin of the main target.
	scheme, host string
	port         string
	clients      int64
	// followed: requests go where their authority is, over connections of its own.
	followed bool
	// others are the targets for other authorities, by their URL.
	others  map[string]string
	timeout int64 // milliseconds
}

// Convert turns a configuration into a manifest. Each warning is a line that begins with the path of
// a field; so is each line of the error.
func Convert(config []byte, o convert.Options) (yaml []byte, warnings []string, err error) {
	d := convert.New("Converted from a configuration of h2loadrunner.", o)
	top, err := format.Parse(d, config)
	if err != nil {
		return nil, nil, fmt.Errorf("the configuration is not JSON: %w", err)
	}
	c := &converter{Draft: d, top: top, others: map[string]string{}}
	c.target()
	c.load()
	c.scenarios()
	c.withoutCounterpart()
	c.top.End()
	return d.Manifest()
}

// withoutCounterpart warns about fields that have no equivalent.
func (c *converter) withoutCounterpart() {
	for _, f := range [][2]string{
		{"log-file", "a line for each request is not written; h2surge run --output-file has the figures"},
		{"failed-request-log-file", "failed requests are counted by cause, not dumped"},
		{"statistics-file", "h2surge run --output-file saves the figures"},
		{"request-per-second-feed-file",
			"the rate cannot be changed while the test runs; several stages in rates can plan it"},
		{"builtin-server-listening-port", "there is no such server; metrics and status are the operator's"},
		{"statistics-interval", "is not needed, figures are always there"},
		{"socket-receive-buffer-size", "is left to the system"},
		{"socket-send-buffer-size", "is left to the system"},
	} {
		if raw := c.top.Take(f[0]); raw != nil && string(raw) != `""` {
			c.Warn(f[0], "has no counterpart: %s", f[1])
		}
	}
}

// target is the name of the main target.
const mainTarget = "target"

func (c *converter) main() *v1alpha1.Target { return &c.Spec().Targets[0] }
