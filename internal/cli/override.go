package cli

import (
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/lazy"
)

// override is one --target-url: where a target is, when not where the manifest says.
type override struct {
	target string // empty: every target
	url    string
}

// namedURL is NAME=URL. A URL without a name cannot match: its first colon comes before any "=".
var namedURL = lazy.Regexp(`^([-a-z0-9]+)=(.*)$`)

func parseOverride(s string) override {
	if m := namedURL().FindStringSubmatch(s); m != nil {
		return override{target: m[1], url: m[2]}
	}
	return override{url: s}
}

// apply replaces the addresses of a target. anyProtocol also removes its protocol and the fields of that protocol, so
// that the URL selects the protocol.
func (o override) apply(spec *v1alpha1.LoadTestSpec, anyProtocol bool) error {
	if !strings.HasPrefix(o.url, "http://") && !strings.HasPrefix(o.url, "https://") {
		like := "http://h:80"
		if name, url, ok := strings.Cut(o.url, ":"); ok && strings.Contains(url, "://") {
			like = name + "=" + url
		}
		return command.Usagef("--target-url: %q is not a URL; allowed: URL or NAME=URL, such as %s", o.url, like)
	}
	found := false
	for i := range spec.Targets {
		t := &spec.Targets[i]
		if o.target != "" && t.Name != o.target {
			continue
		}
		found = true
		t.URL, t.URLs, t.ConnectTo = o.url, nil, ""
		if anyProtocol {
			adapt(t)
		}
	}
	if !found && o.target != "" {
		return command.Usagef("--target-url: %q is not a target of the manifest; allowed: %s", o.target, targetNames(spec))
	}
	return nil
}

// withoutTLS returns a warning for each target whose TLS --demo does not use.
func withoutTLS(targets []v1alpha1.Target) (out []string) {
	for i := range targets {
		if t := &targets[i]; t.TLS != nil || strings.HasPrefix(t.URL, "https:") {
			out = append(out, fmt.Sprintf(
				"spec.targets[%d] (%s): the target of --demo has no TLS, so the TLS of the manifest is not tried", i, t.Name))
		}
	}
	return out
}

// adapt takes away what goes with the target that was meant and cannot go with another.
func adapt(t *v1alpha1.Target) {
	t.Protocol, t.FollowAltSvc, t.TLS, t.HTTP1 = v1alpha1.ProtocolAuto, false, nil, nil
	if t.Connecting != nil {
		t.Connecting.LocalAddresses, t.Connecting.Interface = nil, ""
	}
}

func targetNames(spec *v1alpha1.LoadTestSpec) string {
	var names []string
	for i := range spec.Targets {
		names = append(names, fmt.Sprintf("%q", spec.Targets[i].Name))
	}
	return strings.Join(names, ", ")
}
