package har

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// Options are settings that an archive does not contain.
type Options struct {
	convert.Options
	// Think turns the pause between a response and the next request of the same page into a think time.
	Think bool
}

type converter struct {
	*convert.Draft
	think   bool
	targets map[string]string // by URL
	chains  map[string]int    // by page
	// last entry of each chain.
	last map[int]*entry
	// tooLong counts the requests of each chain that are beyond maxChainSteps.
	tooLong map[int]int
}

// Convert turns an archive into a manifest: a chain for each page, and a step for each request, in the order
// in which the browser sent them. Each warning and each line of the error begins
// with the path of a field.
func Convert(input []byte, o Options) (yaml []byte, warnings []string, err error) {
	a, err := parse(input)
	if err != nil {
		return nil, nil, fmt.Errorf("the archive cannot be read: %w", err)
	}
	d := convert.New("Converted from an HTTP archive (HAR).", o.Options)
	c := &converter{Draft: d, think: o.Think, targets: map[string]string{}, chains: map[string]int{},
		last: map[int]*entry{}, tooLong: map[int]int{}}
	if a.Log == nil || len(a.Log.Entries) == 0 {
		c.Fail("log.entries", "at least one is required")
		return d.Manifest()
	}
	c.pages(a.Log.Pages)
	c.entries(a.Log.Entries)
	c.rate()
	return d.Manifest()
}

// A LoadTest has at most maxSteps requests, in at most maxChains chains of at most maxChainSteps.
const maxSteps, maxChains, maxChainSteps = 256, 32, 64

// pages adds a chain for each page of the archive, with the name of the page.
func (c *converter) pages(pages []page) {
	for _, p := range pages {
		if _, has := c.chains[p.ID]; has || p.ID == "" {
			continue
		}
		name := p.Title
		if convert.DashName(name) == "x" || len(name) > 60 {
			name = p.ID
		}
		c.chain(p.ID, name)
	}
}

// chain adds an empty chain and returns its index.
func (c *converter) chain(id, name string) int {
	i := len(c.Spec().Chains)
	c.Spec().Chains = append(c.Spec().Chains, v1alpha1.Chain{Name: c.Unique("chain", convert.DashName(name)),
		Cookies: true})
	c.chains[id] = i
	return i
}

func (c *converter) entries(entries []entry) {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return entries[a].begin().Compare(entries[b].begin()) })
	for _, i := range order {
		c.entry(fmt.Sprintf("log.entries[%d]", i), &entries[i])
	}
	for i, chain := range c.Spec().Chains {
		if more := c.tooLong[i]; more > 0 {
			c.Warn("log.entries", "session %q has %d requests, and a chain has at most %d steps: the last %d are left out; record a shorter session, or remove requests such as images from the archive",
				chain.Name, maxChainSteps+more, maxChainSteps, more)
		}
	}
	c.Spec().Chains = slices.DeleteFunc(c.Spec().Chains, func(ch v1alpha1.Chain) bool { return len(ch.Steps) == 0 })
	if len(c.Spec().Chains) == 0 {
		c.Fail("log.entries", "none of them can be sent")
	}
	if n := len(c.Spec().Chains); n > maxChains {
		c.Fail("log.pages", "%d pages have requests, and a LoadTest has at most %d chains; remove pages from the archive", n,
			maxChains)
	}
	c.WarnAt("spec.chains[0].cookies", "cookies",
		"Cookie headers are left out; cookies keeps what responses set, as a browser does")
}

func (c *converter) entry(from string, e *entry) {
	if e.Request == nil {
		c.Fail(from+".request", "is needed")
		return
	}
	u, user, err := convert.SplitURL(e.Request.URL)
	if err != nil {
		c.Warn(from+".request.url", "%v; the entry is left out", err)
		return
	}
	if user != nil {
		c.Warn(from+".request.url", "user and password are left out")
	}
	if e.Request.Method == http.MethodConnect {
		c.Warn(from+".request.method", "CONNECT opens a tunnel and is left out")
		return
	}
	if len(c.Spec().Templates) == maxSteps {
		c.Warn("log.entries", "a LoadTest has %d requests at most; later ones are left out", maxSteps)
		return
	}
	i, known := c.chains[e.Pageref]
	if !known {
		i = c.chain(e.Pageref, "session")
	}
	chain := &c.Spec().Chains[i]
	if len(chain.Steps) == maxChainSteps {
		c.tooLong[i]++
		return
	}
	step := v1alpha1.Step{Template: c.template(from, e, u)}
	if target := c.target(from, u, e.Request.HTTPVersion); chain.Target == "" {
		chain.Target = target
	} else if chain.Target != target {
		step.Target = target
	}
	step.ThinkTime = c.pause(e, c.last[i])
	c.last[i] = e
	chain.Steps = append(chain.Steps, step)
}

// longestPause is the longest think time that a LoadTest allows.
const longestPause = time.Hour

// pause is the time from one response to the next request.
func (c *converter) pause(e, before *entry) *v1alpha1.ThinkTime {
	if !c.think || before == nil || e.begin().IsZero() || before.begin().IsZero() {
		return nil
	}
	gap := e.begin().Sub(before.end()).Round(time.Millisecond)
	if gap <= 0 {
		return nil
	}
	return &v1alpha1.ThinkTime{Fixed: convert.Given(min(gap, longestPause))}
}

// target returns the name of the target for an origin. It adds the target if it is new.
func (c *converter) target(from string, u convert.URL, version string) string {
	if name := c.targets[u.Base()]; name != "" {
		return name
	}
	t := v1alpha1.Target{Name: c.Unique("target", convert.DashName(u.Authority)), URL: u.Base()}
	if u.Scheme == "http" && version != "h2c" {
		t.Protocol = v1alpha1.ProtocolHTTP1
	}
	c.Origin(fmt.Sprintf("spec.targets[%d]", len(c.Spec().Targets)), from+".request.url")
	c.Spec().Targets = append(c.Spec().Targets, t)
	c.targets[u.Base()] = t.Name
	return t.Name
}

// rate adds a stage with a rate to begin with: an archive does not say how many users there are.
func (c *converter) rate() {
	c.WarnAt("spec.rates", "rates", "an archive has the requests of one user; set the rate that you want here")
	c.Spec().Rates = []v1alpha1.Rate{{Name: "load", RequestsPerSecond: new(int64(10)),
		Duration: convert.Given(time.Minute)}}
}
