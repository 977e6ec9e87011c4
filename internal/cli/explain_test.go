package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/test/golden"
)

func TestExplain(t *testing.T) {
	for name, args := range map[string][]string{
		"pointer":  {"loadtest.spec.templates[0].capture[].jsonPointer"},
		"protocol": {"spec.targets.protocol"},
		"retry":    {"LoadTest.spec.chains.steps.retry"},
		"metadata": {"metadata"},
		"steps":    {"spec.chains.steps", "--recursive"},
		"schedule": {"loadtestschedule.spec"},
		"template": {"LoadTestSchedule.spec.template.spec.rates[0].duration"},
		"target":   {"Target"},
		"rules":    {"Target.rules", "--recursive"},
		"action":   {"Target.rules[].resource.action"},
		"share":    {"target.rules.responses.unanswered"},
		"rate":     {"spec.rates.requestsPerSecond"}, // chains.rates has the same description, and it is complete here, too
	} {
		got := h2surge(t, nil, nil, append([]string{"explain"}, args...)...)
		if got.code != 0 || got.errors != "" {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.errors)
		}
		golden.Compare(t, "explain/"+name+".txt", got.out)
		for line := range strings.Lines(got.out) {
			if len(line) > command.UsageWidth+1 && !strings.Contains(line, "matches ") && !strings.Contains(line, "one of ") {
				t.Errorf("%s: a line of %d columns: %s", name, len(line)-1, line)
			}
		}
	}
}

// TestExplainOfThePage: the reference shows the output of today.
func TestExplainOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "```console\n$ h2surge explain spec.targets.protocol\n" + h2surge(t, nil, nil, "explain", "spec.targets.protocol").out + "```\n"
	if !strings.Contains(string(page), want) {
		t.Errorf("docs/reference/cli.md lacks\n%s", want)
	}
}

// TestExplainRules: a rule about a field is shown with the field, and with the object that has the rule, where it names the field.
func TestExplainRules(t *testing.T) {
	for path, want := range map[string]string{
		"spec.targets.auth.oauth2":                  "RULES:\n    - clientSecretFrom: needs clientID\n\n",
		"spec.targets.auth.oauth2.clientSecretFrom": "    - needs clientID\n",
		"spec.runner.minShards":                     "    - minShards must be at most runner.shards\n",
		"spec.rates.rampFrom":                       "    - rampFrom needs duration\n",
		"spec.rates":                                "    - rampFrom needs duration\n",
	} {
		if got := h2surge(t, nil, nil, "explain", path); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s: exit code %d, no %q in\n%s%s", path, got.code, want, got.out, got.errors)
		}
	}
}

func TestExplainTop(t *testing.T) {
	got := h2surge(t, nil, nil, "explain")
	for _, line := range []string{"  metadata <Object> -required-\n", "  spec <Object> -required-\n    spec is the load to apply.\n", "  status <Object>\n"} {
		if !strings.Contains(got.out, line) {
			t.Errorf("there is no %q in\n%s", line, got.out)
		}
	}
}

func TestExplainUnknown(t *testing.T) {
	for path, want := range map[string]string{
		"spec.templatez":                   "spec has no field \"templatez\"; did you mean templates?\n",
		"spec.template":                    "spec has no field \"template\"; did you mean templates?\n\"template\" is a field of: spec.chains.steps.template, spec.chains.steps.parallel.template\n",
		"spec.chains.jsonpointer":          "spec.chains has no field \"jsonpointer\"; allowed: cookies, maxInFlight, ...",
		"spec.runner.podTemplate.spec":     "spec.runner.podTemplate has the fields of Kubernetes: use kubectl explain\n",
		"spec.chains.name.first":           "spec.chains.name has no fields: its type is string\n",
		"LoadTestSchedul":                  "\"LoadTestSchedul\" is not a kind; did you mean LoadTestSchedule?\n",
		"LoadTestSchedule.spec.timezone":   "spec has no field \"timezone\"; did you mean timeZone?\n",
		"LoadTestSchedule.schedule":        "a LoadTestSchedule has no field \"schedule\"; allowed: apiVersion, ...\n\"schedule\" is a field of: spec.schedule, spec.template.spec.thresholds.baseline.schedule\n",
		"rules.match":                      "a LoadTest has no field \"rules\"; allowed: apiVersion, ...\n\"rules\" is a field of: Target.rules\n",
		"spec.concurrencyPolicy":           "spec has no field \"concurrencyPolicy\"; allowed: ...\n\"concurrencyPolicy\" is a field of: LoadTestSchedule.spec.concurrencyPolicy\n",
		"Target.rules.url":                 "rules has no field \"url\"; allowed: match, name, ...\n\"url\" is a field of: LoadTest.spec.targets.url, LoadTest.spec.observe.prometheus.url, LoadTest.status.protocols.url, LoadTest.status.report.url\n",
		"spek":                             "a LoadTest has no field \"spek\"; did you mean spec?\n",
		"spec..chains":                     "spec has no field \"\"; allowed: activeDeadlineSeconds, ...",
		"metadata.labels.team":             "metadata.labels has no fields: its type is map[string]string\n",
		"spec.templates.capture.jsonpoint": "spec.templates.capture has no field \"jsonpoint\"; did you mean jsonPointer?\n",
	} {
		got := h2surge(t, nil, nil, "explain", path)
		if got.code != 1 || got.out != "" || !matches(got.errors, want) {
			t.Errorf("%s: exit code %d\n%swant\n%s", path, got.code, got.errors, want)
		}
	}
}

// TestExplainOrder: the fields of an object are those that it must have, then the others in the order of use.
func TestExplainOrder(t *testing.T) {
	for path, want := range map[string]string{
		"":                           "kind apiVersion metadata spec",
		"spec":                       "targets chains variables templates rates thresholds",
		"spec.templates":             "name path method headers body expect capture",
		"spec.templates.expect":      "status checks",
		"spec.chains":                "name target steps",
		"spec.chains.steps":          "name request template",
		"spec.chains.steps.request":  "path method headers body expect capture",
		"spec.chains.steps.parallel": "template name target",
		"spec.targets":               "name url protocol connections",
		"spec.rates":                 "name requestsPerSecond chainsPerSecond closedLoop requestsPer duration",
		"spec.thresholds":            "name metric percentile max min",
	} {
		for _, recursive := range []string{"--recursive=false", "--recursive"} {
			got := h2surge(t, nil, nil, "explain", path, recursive)
			names := ""
			for _, m := range regexp.MustCompile(`(?m)^  (\w+) <`).FindAllStringSubmatch(got.out, -1) {
				names += m[1] + " "
			}
			if !strings.HasPrefix(names, want+" ") {
				t.Errorf("%q %s: the fields are %s; want %s first", path, recursive, names, want)
			}
		}
	}
}
