package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/h2surge/h2surge/internal/cli/command"
)

// TestFlagsSetTheirFields: the field of each row is one that the flag sets, so that errors in the field name the flag.
func TestFlagsSetTheirFields(t *testing.T) {
	special := map[string][]string{
		"connection-rate-period": {"-r", "1", "--connection-rate-period", "1"}, "max-redirs": {"-L", "--max-redirs", "1"}, "resolve": {"--resolve", "h:1:192.0.2.1"},
	}
	for _, row := range formOf(t).flags {
		if row.field == "" {
			continue
		}
		base, below, _ := strings.Cut(row.field, ".")
		path := map[string]string{"target": "targets.0.", "rate": "rates.0.", "request": "chains.0.steps.0.request."}[base] + below
		if row.name == "warm-up-time" {
			path = "rates.0.duration"
		}
		args := special[row.name]
		switch {
		case args != nil:
		case row.Type() == "bool":
			args = []string{"--" + row.name}
		default:
			args = []string{"--" + row.name + "=1"}
		}
		form := formOf(t, args...)
		lt, err := form.loadTest(nil, "https://h:1")
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if !hasField(t, lt.Spec, path) {
			t.Errorf("%v do not set %s", args, path)
		}
		want := command.Typed(form.own.Lookup(row.name))
		if got := form.flagOf("spec." + strings.ReplaceAll(path, ".0", "[0]")); got != want {
			t.Errorf("%s is set by %q, want %q", path, got, want)
		}
	}
}

func hasField(t *testing.T, object any, path string) bool {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var at any
	if err := json.Unmarshal(text, &at); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(path, ".") {
		if items, ok := at.([]any); ok {
			at = items[0]
			continue
		}
		object, _ := at.(map[string]any)
		at = object[name]
	}
	return at != nil
}

// TestFlagOf: errors in objects name all flags that set fields of the object.
func TestFlagOf(t *testing.T) {
	for _, tc := range []struct {
		args        []string
		field, want string
	}{
		{nil, "spec.targets[0].tls", ""},
		{nil, "spec.targets[0]", ""},
		{nil, "spec.targets[0].connections", "-c"},
		{[]string{"--sni", "s", "--cacert", "f", "-w", "16"}, "spec.targets[0].tls", "--sni, --cacert"},
		{[]string{"--sni", "s", "--cacert", "f"}, "spec.targets[0].tls.caFrom", "--cacert"},
		{[]string{"--cert", "f"}, "spec.targets[0].tls.certificate.files.key", "--cert"},
		{[]string{"--cert", "f", "--key", "g"}, "spec.targets[0].tls.certificate.files.key", "--key"},
		{[]string{"--cert", "f", "--key", "g"}, "spec.targets[0].tls.certificate", "--cert"},
		{[]string{"--unix", "f"}, "spec.targets[0].connectTo", "--unix"},
		{[]string{"--local-address", "1"}, "spec.targets[0].connecting.localAddresses[0]", "--local-address"},
		{[]string{"-D", "1", "--warm-up-time", "1"}, "spec.rates[0].duration", "--warm-up-time"},
		{[]string{"-D", "1", "--warm-up-time", "1"}, "spec.rates[1].duration", "-D"},
		{[]string{"--rps", "0.5"}, "spec.rates[0].requestsPer.count", "--rps"},
		{nil, "spec.chains[3].steps[0].request.headers[1].value", "-H"},
		{[]string{"-X", "A"}, "spec.chains[3].steps[0].request.method", "-X"},
		{nil, "spec.variables[0].list.values[7]", "URL"},
	} {
		if got := formOf(t, tc.args...).flagOf(tc.field); got != tc.want {
			t.Errorf("%v: %s is set by %q, want %q", tc.args, tc.field, got, tc.want)
		}
	}
	search := &urlForm{search: &searchFlags{}}
	search.register(pflag.NewFlagSet("", pflag.ContinueOnError))
	if got := search.flagOf("spec.thresholds[0].max"); got != "--max-error-rate" {
		t.Errorf("the first threshold is set by %q", got)
	}
	if err := search.own.Set("p99", "20ms"); err != nil {
		t.Fatal(err)
	}
	if first, second := search.flagOf("spec.thresholds[0].max"), search.flagOf("spec.thresholds[1].max"); first != "--p99" || second != "--max-error-rate" {
		t.Errorf("the thresholds are set by %q and %q", first, second)
	}
}
