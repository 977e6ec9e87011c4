package openapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// Options say more than the description.
type Options struct {
	convert.Options
	// File is the name of the description, which references are relative to.
	File string
	// Target is the URL of the service. Default: the description's first server.
	Target string
	// Operations are the operationIds to convert, or "GET /path". In each, * stands for any text. Default: all.
	Operations []string
	// Resources makes chains that create, read, change and delete a resource, in place of one for
	// each operation. A POST on a collection or a PUT with the response 201 creates it.
	Resources bool
	// Check adds a check of the JSON of the responses against the schemas of the description.
	Check bool
	// Multipart sends multipart/related where a description has it in addition to JSON.
	Multipart bool
}

type converter struct {
	*documents
	o    Options
	root value
	// base is the URL of the target, without the path.
	base       convert.URL
	operations []*operation
	// variables are the names of those of path parameters.
	variables map[string]string
	// varied has the names of path parameters that are different for each chain instance.
	varied map[string]bool
	// prefixes has the constant text before the digits of an id, by the name of the variable.
	prefixes map[string]string
	// columns has the column that is inserted, with its dot, by the name of the variable.
	columns map[string]string
	// location is the capture of what a POST created.
	location string
	// callback is the name of the variable that callback URIs of chain instances differ by; empty: there are none.
	callback string
	// created has the members of the first body of a chain, which creates a resource, and createdMarkers the markers in
	// it.
	created        []member
	createdMarkers *markers
}

// Convert turns a description into a manifest. Each warning and each line of the error begins with
// what it is about: an operation, or a part of the document.
func Convert(input []byte, o Options) (out []byte, warnings []string, err error) {
	d := convert.New("Converted from an OpenAPI description.", o.Options)
	c := &converter{documents: &documents{Draft: d, files: map[string]*yaml.Node{}}, o: o, variables: map[string]string{},
		varied: map[string]bool{}, prefixes: map[string]string{}, columns: map[string]string{}}
	c.root = value{file: o.File}
	c.root = c.root.at(c.parse(o.File, input))
	if !c.version() {
		return d.Manifest()
	}
	c.target()
	c.list()
	c.choose()
	if len(c.operations) == 0 {
		c.Fail("paths", "there is no operation")
		return d.Manifest()
	}
	c.requests()
	c.security()
	c.WarnAt("spec.rates", "rates", "a description does not say how much load is meant; say it here")
	c.Spec().Rates = []v1alpha1.Rate{{Name: "load", RequestsPerSecond: new(int64(10)),
		Duration: convert.Given(time.Minute)}}
	return d.Manifest()
}

func (c *converter) version() bool {
	v := c.root.raw("openapi").text()
	switch {
	case c.Failed():
		return false
	case strings.HasPrefix(v, "3.0") || strings.HasPrefix(v, "3.1"):
		return true
	case c.root.raw("swagger").is():
		c.Fail("swagger", "OpenAPI 2.0 is not read; 3.0 and 3.1 are")
	default:
		c.Fail("openapi", "must be 3.0 or 3.1, with paths below")
	}
	return false
}

// target makes the one target: scheme and authority of --target or the server, and the path of both.
func (c *converter) target() {
	from, raw := "servers[0].url", c.server()
	path := ""
	if u, _, err := convert.SplitURL(raw); err == nil {
		c.base, path = u, u.Path
	} else if !strings.Contains(raw, "://") {
		path = "/" + strings.TrimPrefix(raw, "/")
	}
	if c.o.Target != "" {
		from = "--target"
		u, user, err := convert.SplitURL(c.o.Target)
		if err != nil || user != nil {
			c.Fail(from, "must be a URL such as http://host:8080, without a user")
			return
		}
		c.base, path = u, strings.TrimRight(u.Path, "/")+path
	}
	if c.base.Authority == "" {
		c.Fail("servers[0].url", "has no host; --target says where the service is")
		return
	}
	if i := strings.IndexByte(path, '?'); i >= 0 {
		path = path[:i]
	}
	c.Origin("spec.targets[0]", from)
	c.Spec().Targets = []v1alpha1.Target{{Name: "target", URL: c.base.Base() + convert.Literal(strings.TrimRight(path,
		"/"))}}
	if c.o.Target == "" {
		c.WarnAt("spec.targets[0].url", from, "is the description's; say where the service under test is")
	}
	if n := len(c.root.raw("servers").items()); n > 1 {
		c.WarnAt("spec.targets[0].url", "servers", "the first of %d is taken", n)
	}
}

// server is the URL of the first, with the defaults of its variables.
func (c *converter) server() string {
	servers := c.root.raw("servers").items()
	if len(servers) == 0 {
		return "/"
	}
	raw := servers[0].raw("url").text()
	variables := servers[0].raw("variables")
	for _, name := range variables.names() {
		raw = strings.ReplaceAll(raw, "{"+name+"}", variables.raw(name).raw("default").text())
	}
	return strings.TrimPrefix(raw, "{apiRoot}") // TS 29.501 4.4.1, where it has no default
}

// choose keeps what --operation says.
func (c *converter) choose() {
	if len(c.o.Operations) == 0 {
		return
	}
	var out []*operation
	for _, pattern := range c.o.Operations {
		found := false
		for _, op := range c.operations {
			if !like(pattern, op.id) && !like(pattern, place(op.method, op.path)) {
				continue
			}
			if found = true; !slices.Contains(out, op) {
				out = append(out, op)
			}
		}
		if !found {
			c.Fail("--operation", "%s is not in the description", pattern)
		}
	}
	c.operations = out
}

// like returns whether a text is a pattern, in which * stands for any text.
func like(pattern, text string) bool {
	begin, rest, isPattern := strings.Cut(pattern, "*")
	if !isPattern {
		return pattern == text
	}
	after, begins := strings.CutPrefix(text, begin)
	for ; begins; after = after[1:] {
		if like(rest, after) {
			return true
		}
		if after == "" {
			break
		}
	}
	return false
}

// maxChains is that of a LoadTest.
const maxChains = 32

// requests makes templates and chains.
func (c *converter) requests() {
	groups := c.groups()
	if len(groups) > maxChains {
		c.Fail("paths", "there are %d operations, and a LoadTest has %d chains; --operation says which ones, with * for any text: %s",
			len(groups), maxChains, ids(groups))
		return
	}
	for _, group := range groups {
		name, located := group[0].name, false
		if len(group) > 1 {
			name = convert.DashName(lastWord(group[0].path))
			located = group[0].method == http.MethodPost
		}
		if located && c.location == "" {
			c.location = c.Unique("variable", "location")
		}
		chain := v1alpha1.Chain{Name: c.Unique("chain", name), Target: "target"}
		for i, op := range group {
			chain.Steps = append(chain.Steps, v1alpha1.Step{Template: c.template(op, located, located && i > 0, i == 0)})
			if op.await != nil {
				chain.Steps = append(chain.Steps, *op.await)
			}
		}
		c.Spec().Chains = append(c.Spec().Chains, chain)
	}
}

// ids returns the names of the operations that begin chains, as --operation has them.
func ids(groups [][]*operation) string {
	var out []string
	for _, group := range groups {
		out = append(out, cmp.Or(group[0].id, place(group[0].method, group[0].path)))
	}
	return strings.Join(out, ", ")
}

// lastWord returns the last segment of a path that is not a parameter.
func lastWord(path string) string {
	segments := strings.Split(path, "/")
	for len(segments) > 1 && strings.HasPrefix(segments[len(segments)-1], "{") {
		segments = segments[:len(segments)-1]
	}
	return segments[len(segments)-1]
}

// lifetime is the order in which a resource is used: operations on the item, on what is below it, and those that end
// it.
var lifetime = []string{"GET", "HEAD", "PATCH", "PUT", "below PUT", "below GET", "below HEAD", "below PATCH",
	"below DELETE", "below POST", "end POST", "DELETE"}

// ends are the last segments of paths whose POST ends a resource, such as /sm-contexts/{smContextRef}/release (TS
// 29.502) and /sm-policies/{smPolicyId}/delete (TS 29.512).
var ends = []string{"release", "delete"}

// groups returns the operations of each chain. With Resources, the operations on an item, and one segment below it, are
// behind the POST on its collection or behind the PUT that creates the item.
func (c *converter) groups() (out [][]*operation) {
	taken := map[*operation]bool{}
	collect := func(first *operation, isItem func(path string) bool) {
		group := []*operation{first}
		for _, use := range lifetime {
			for _, op := range c.operations {
				if op != first && !taken[op] && c.use(op, isItem) == use {
					group = append(group, op)
				}
			}
		}
		if len(group) == 1 {
			return
		}
		for _, op := range group {
			taken[op] = true
		}
		out = append(out, group)
	}
	for _, post := range c.operations {
		if c.o.Resources && post.method == http.MethodPost && !taken[post] {
			collect(post, func(path string) bool { return isItem(post.path, path) })
		}
	}
	for _, put := range c.operations {
		if c.o.Resources && put.method == http.MethodPut && !taken[put] && slices.Contains(c.statuses(put), "201") {
			c.vary(put.path)
			collect(put, func(path string) bool { return path == put.path })
		}
	}
	for _, op := range c.operations {
		if !taken[op] {
			out = append(out, []*operation{op})
		}
	}
	return out
}

// use returns the place of an operation in lifetime, or an empty text if it is not one on an item.
func (c *converter) use(op *operation, isItem func(path string) bool) string {
	if isItem(op.path) {
		return op.method
	}
	at := strings.LastIndexByte(op.path, '/')
	if below := op.path[at+1:]; isItem(op.path[:at]) && !strings.HasPrefix(below, "{") && !c.isCollection(op.path) {
		if op.method == http.MethodPost && slices.Contains(ends, below) {
			return "end POST"
		}
		return "below " + op.method
	}
	return ""
}

// isCollection reports whether a path has items.
func (c *converter) isCollection(path string) bool {
	return slices.ContainsFunc(c.operations, func(op *operation) bool { return isItem(path, op.path) })
}

// isItem: one more segment, which is a parameter.
func isItem(collection, item string) bool {
	rest, found := strings.CutPrefix(item, strings.TrimRight(collection, "/")+"/")
	return found && strings.HasPrefix(rest, "{") && strings.HasSuffix(rest, "}") && !strings.Contains(rest, "/")
}

// security warns about the credentials that the user must add: a description does not contain secrets.
func (c *converter) security() {
	var names []string
	add := func(list value) {
		for _, needed := range list.items() {
			for _, name := range needed.names() {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	for _, op := range c.operations {
		if own := op.in.raw("security"); own.is() {
			add(own)
		} else {
			add(c.root.raw("security"))
		}
	}
	if len(names) == 0 {
		return
	}
	schemes := c.get(c.get(c.root, "components"), "securitySchemes")
	for _, name := range names {
		scheme := c.get(schemes, name)
		what := strings.TrimSpace(scheme.raw("type").text() + " " + scheme.raw("scheme").text())
		if flow := scheme.raw("flows").raw("clientCredentials"); flow.is() {
			what += ", tokens from " + flow.raw("tokenUrl").text()
		}
		c.WarnAt("spec.targets[0]", "security", "%s (%s) is asked for; auth of the target makes it", name, what)
	}
}
