package compile

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/policy"
)

// Limits are what an installation allows. The zero value allows everything.
type Limits struct {
	// RequestsPerSecond, Shards, Duration and Connections are maximum values; 0: no limit.
	RequestsPerSecond int64
	Shards            int
	Duration          time.Duration
	Connections       int
	// Addresses is the policy on targets; nil: all addresses are allowed.
	Addresses *policy.Policy
	// DeniedPodFields are paths in runner.podTemplate, such as spec.hostNetwork.
	DeniedPodFields []string
}

// Check returns what a spec has above the limits. The plan is that of Compile, of the same spec.
func (l *Limits) Check(spec *v1alpha1.LoadTestSpec, plan *runnerv1alpha1.Plan) field.ErrorList {
	c := &planner{spec: complete(spec), plan: plan}
	c.maxRate(l.RequestsPerSecond)
	c.maxShards(l.Shards)
	c.maxDuration(l.Duration)
	c.maxConnections(l.Connections)
	c.deniedTargets(l.Addresses)
	c.deniedPodFields(l.DeniedPodFields)
	return c.errs
}

// deny reports a field that the operator's configuration does not allow.
func (c *checker) deny(path *field.Path, limit, format string, args ...any) {
	c.report(field.ErrorList{field.Forbidden(path, fmt.Sprintf(format, args...)+"; denied by "+limit+
		" of the operator's configuration")})
}

func (c *planner) maxRate(limit int64) {
	if limit == 0 {
		return
	}
	var sum float64
	for own := range len(c.plan.Chains) + 1 {
		sum += c.highestRate(own)
	}
	path := specPath.Child("rates")
	if s := c.plan.Search; s != nil && !c.plan.Rates[s.FirstStage].ClosedLoop {
		path, sum = specPath.Child("search"), max(sum, float64(s.Max))
	}
	if sum > float64(limit) {
		c.deny(path, "limits.requestsPerSecond",
			"the highest rates of spec.rates and of all chains are together %.6g requests per second; allowed: at most %d", sum,
			limit)
	}
}

func (c *planner) maxShards(limit int) {
	if n := int(c.spec.Runner.Shards); limit > 0 && n > limit {
		c.deny(runnerPath.Child("shards"), "limits.shards", "is %d; allowed: at most %d", n, limit)
	}
}

func (c *planner) maxDuration(limit time.Duration) {
	if limit == 0 {
		return
	}
	if d := c.spec.ActiveDeadlineSeconds; d != nil && time.Duration(*d)*time.Second <= limit {
		return
	}
	switch stages, bounded := c.plan.Length(); {
	case !bounded:
		c.deny(specPath.Child("activeDeadlineSeconds"), "limits.duration",
			"is required, and must be at most %.0f, because a stage ends by requests", limit.Seconds())
	case stages > limit:
		c.deny(specPath.Child("rates"), "limits.duration", "the stages take %v; allowed: at most %v", stages, limit)
	}
}

func (c *planner) maxConnections(limit int) {
	sum := 0
	for i := range c.plan.Targets {
		sum += c.plan.Targets[i].Connections
	}
	if limit > 0 && sum > limit {
		c.deny(specPath.Child("targets"), "limits.connections",
			"all targets together have %d connections; allowed: at most %d", sum, limit)
	}
}

// deniedTargets checks the hosts that the spec names. The runner checks those that it computes, and all addresses.
func (c *planner) deniedTargets(p *policy.Policy) {
	for i := range c.plan.Targets {
		t, at := &c.plan.Targets[i], specPath.Child("targets").Index(i)
		for k := range t.Endpoints {
			path := at.Child("url")
			if len(c.spec.Targets[i].URLs) > 0 {
				path = at.Child("urls").Index(k)
			}
			if c.spec.Targets[i].ConnectTo != "" {
				path = at.Child("connectTo")
			}
			c.deniedHost(path, p, t.Endpoints[k].Address)
		}
		if t.Auth != nil && t.Auth.OAuth2 != nil {
			if u, err := url.Parse(t.Auth.OAuth2.TokenURL); err == nil {
				c.deniedHost(at.Child("auth", "oauth2", "tokenURL"), p, net.JoinHostPort(u.Hostname(), "0"))
			}
		}
	}
}

func (c *checker) deniedHost(path *field.Path, p *policy.Policy, address string) {
	if host, _, err := net.SplitHostPort(address); err == nil && !strings.HasPrefix(address, "unix:") {
		if rule := p.Host(host); rule != "" {
			c.deny(path, "rule "+rule+" in targets", "no LoadTest can send requests to this host")
		}
	}
}

func (c *planner) deniedPodFields(denied []string) {
	raw := c.spec.Runner.PodTemplate
	if raw == nil || len(raw.Raw) == 0 || len(denied) == 0 {
		return
	}
	var template any
	if json.Unmarshal(raw.Raw, &template) != nil {
		return // Compile reports it
	}
	for _, path := range withAliases(denied) {
		if hasField(template, strings.Split(path, ".")) {
			c.deny(runnerPath.Child("podTemplate").Child(path), "runner.deniedPodFields", "no LoadTest can set this field")
		}
	}
}

// withAliases adds the other name of a field that has two in the API of Kubernetes.
func withAliases(paths []string) []string {
	names := []string{"spec.serviceAccountName", "spec.serviceAccount"}
	if !slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(names, path) }) {
		return paths
	}
	others := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return slices.Contains(names, path) })
	return append(others, names...)
}

// hasField returns whether a document has a field. Lists have it if an element has it. A field that is null counts, and
// so does null or a directive of the strategic merge above it: they delete the operator's value.
func hasField(doc any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch doc := doc.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(doc, func(element any) bool { return hasField(element, path) })
	case map[string]any:
		if _, directive := doc["$patch"]; directive { // maps of texts can have it: all other objects have known fields
			return true
		}
		value, has := doc[path[0]]
		return has && hasField(value, path[1:])
	}
	return false
}
