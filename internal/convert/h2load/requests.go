package h2load

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

const (
	// manyPaths is the most that get a chain of their own, and with it a row of the report: a
	// LoadTest has 32 chains.
	manyPaths = 32
	// maxList is the most that a list variable holds; maxValue are the characters of one.
	maxList, maxValue = 4096, 1024
)

// requests makes templates and chains: one for each path, or one for all when there are many.
func (c *converter) requests() {
	like := c.template()
	paths := make([]string, 0, len(c.urls))
	listed := len(c.urls) <= maxList
	for _, u := range c.urls {
		paths = append(paths, u.Path)
		listed = listed && len(u.Path) <= maxValue
	}
	switch {
	case len(paths) == 1:
		like.Path = convert.Literal(paths[0])
	case len(paths) > manyPaths && listed:
		c.Spec().Variables = []v1alpha1.Variable{{Name: "path", List: &v1alpha1.ValueList{Values: paths}}}
		like.Path, paths = "${path}", paths[:1]
	case len(paths) > manyPaths:
		c.Spec().Variables = []v1alpha1.Variable{{Name: "paths", CSV: c.table(paths)}}
		like.Path, paths = "${paths.path}", paths[:1]
	}
	c.Origin("spec.variables", "URI")
	for i, path := range paths {
		t := *like.DeepCopy()
		if t.Path == "" {
			t.Path = convert.Literal(path)
			t.Name = fmt.Sprintf("%s-%d", like.Name, i+1)
		}
		c.Origin(fmt.Sprintf("spec.templates[%d].path", i), "URI")
		c.Spec().Templates = append(c.Spec().Templates, t)
		c.Spec().Chains = append(c.Spec().Chains, v1alpha1.Chain{Name: t.Name, Target: target, Steps: []v1alpha1.Step{{Template: t.Name}}})
	}
}

// table is for more paths than a list takes.
func (c *converter) table(paths []string) *v1alpha1.CSV {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"path"}) // a buffer takes all
	for _, p := range paths {
		_ = w.Write([]string{p})
	}
	w.Flush()
	source := c.Gather("URI", "paths.csv", "", b.Bytes())
	return &v1alpha1.CSV{ConfigMapKeyRef: source.ConfigMapKeyRef, File: source.File}
}

func (c *converter) template() v1alpha1.Template {
	t := v1alpha1.Template{Name: "request", Request: v1alpha1.Request{Method: "GET"}}
	if c.Has("--data") {
		t.Method = "POST"
		if content, ok := c.Read("--data", c.Last["--data"]); ok {
			c.Body(&t, "--data", c.Last["--data"], content)
		}
		c.Origin("spec.templates[0].body", "-d")
	}
	c.Origin("spec.templates", "-H")
	c.WarnAt("spec.templates[0]", "timeout", "h2load waits for a response without end; here a request fails after its timeout, by default 5s")
	for _, line := range c.All["--header"] {
		c.headerLine(&t, line)
	}
	return t
}

func (c *converter) headerLine(t *v1alpha1.Template, line string) {
	pseudo := strings.HasPrefix(line, ":")
	name, value, found := strings.Cut(strings.TrimPrefix(line, ":"), ":")
	value = strings.Trim(value, " \t")
	switch lower := strings.ToLower(name); {
	case !found || name == "":
		c.Fail("--header", "must be of the form name:value") // not quoted: it may be a secret
	case pseudo && lower == "method":
		t.Method = value
	case pseudo && lower == "authority" || !pseudo && lower == "host":
		c.authority(value)
	case pseudo:
		c.WarnAt("spec.templates[0]", "--header", ":%s cannot be set here and is left out", lower)
	default:
		if h, ok := c.Header("spec.templates[0].headers", "--header", name, convert.Literal(value)); ok {
			t.Headers = append(t.Headers, h)
		}
	}
}

// authority is what requests name in place of the host that is dialled.
func (c *converter) authority(value string) {
	t := &c.Spec().Targets[0]
	u, ok := c.urls[0].Named(value)
	if !ok {
		c.Fail("--header", "the authority cannot be one")
		return
	}
	if t.ConnectTo == "" {
		t.ConnectTo = c.urls[0].Dialled()
	}
	t.URL = u.Base()
	c.WarnAt("spec.targets[0].url", "--header", "the authority is that of the target's url; connectTo says where it is")
}
