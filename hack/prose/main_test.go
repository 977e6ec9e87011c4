package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	rules, err := parseRules([]byte(`
rules:
- {match: 'deal|dealt', names: deal, write: distribute}
- {match: '(there )?(is|are) no( longer)?', unless: '^there|longer', write: is not a}
- {match: 'due time', visible: true, write: scheduled time, except: [{path: docs/glossary.md, reason: it defines the word}]}
- {match: 'room', write: capacity, except: [{path: docs, text: 'waiting room', reason: a name}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file, content string
		want          []string
	}{
		"page":               {"docs/a.md", "A plan.\nIt is dealt.\n", []string{"docs/a.md:2 dealt: distribute"}},
		"whole words only":   {"docs/a.md", "A dealer.\n", nil},
		"over a line's end":  {"docs/a.md", "It is\nno plan. Dealt.\n", []string{"docs/a.md:1 is no: is not a", "docs/a.md:2 Dealt: distribute"}},
		"off":                {"docs/a.md", "deal\n<!-- prose off: bad examples -->\ndeal\n<!-- prose on -->\ndeal\n", []string{"docs/a.md:1 deal: distribute", "docs/a.md:5 deal: distribute"}},
		"unless":             {"docs/a.md", "There is no plan. It is no longer there.\n", nil},
		"exception":          {"docs/glossary.md", "the due time\n", nil},
		"not an exception":   {"docs/glossary.md.md", "the due time\n", []string{"docs/glossary.md.md:1 due time: scheduled time"}},
		"exception by text":  {"docs/a.md", "a waiting room\n", nil},
		"other text":         {"docs/a.md", "a room\n", []string{"docs/a.md:1 room: capacity"}},
		"program":            {"cmd/a/a.go", "package a\n\n// It is dealt.\nvar a = \"is dealt\"\n", []string{"cmd/a/a.go:4 dealt: distribute"}},
		"API":                {"api/v1/a.go", "package a\n\n/* A plan.\nIt is dealt. */\nvar a = `plan\ndealt`\n", []string{"api/v1/a.go:4 dealt: distribute", "api/v1/a.go:6 dealt: distribute"}},
		"added strings":      {"cmd/a/a.go", "package a\n\nvar a = \"is \" +\n\t\"no \" + b + \" deal\"\n", []string{"cmd/a/a.go:3 is no: is not a", "cmd/a/a.go:4 deal: distribute"}},
		"string in a call":   {"cmd/a/a.go", "package a\n\nvar a = f(\"deal\") + \"deal\"\n", []string{"cmd/a/a.go:3 deal: distribute", "cmd/a/a.go:3 deal: distribute"}},
		"no imports":         {"cmd/a/a.go", "package a\n\nimport _ \"x/deal\"\n", nil},
		"no tags":            {"cmd/a/a.go", "package a\n\ntype a struct {\n\tB string `json:\"deal\"`\n}\n", nil},
		"tests are the rest": {"cmd/a/a_test.go", "package a\n\nvar a = \"is dealt\"\n", nil},
		"script":             {"hack/a.sh", "# It is dealt.\necho dealt # dealt\n", []string{"hack/a.sh:2 dealt: distribute"}},
		"generated":          {"docs/reference/api.md", "It is dealt.\n", nil},
		"other files":        {"a.bin", "It is dealt.\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, found(t, rules, tt.file, tt.content, true)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRest(t *testing.T) {
	rules, err := parseRules([]byte(`
rules:
- {match: 'deal', names: deal, write: distribute}
- {match: 'due time', visible: true, write: scheduled time}
`))
	if err != nil {
		t.Fatal(err)
	}
	const code = `package a

// The due time of a deal.
func dealShare(dealer int) {
	theDeal, ideal := "deal", 0
}

type HTTPDeal struct{ deal_it int }
`
	want := []string{
		"a.go:3 deal: distribute", "a.go:4 dealShare: distribute", "a.go:5 theDeal: distribute", "a.go:8 HTTPDeal: distribute", "a.go:8 deal_it: distribute",
	}
	if diff := cmp.Diff(want, found(t, rules, "a.go", code, false)); diff != "" {
		t.Error(diff)
	}
}

// found returns the alerts of one file.
func found(t *testing.T, rules []rule, file, content string, visible bool) []string {
	t.Helper()
	k := classify(file)
	if k == skipped {
		return nil
	}
	texts, err := extract(file, k, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range texts {
		if x.visible != visible {
			continue
		}
		for _, a := range check(rules, x) {
			out = append(out, fmt.Sprintf("%s:%d %s: %s", a.file, a.line, a.found, a.write))
		}
	}
	return out
}

func TestRules(t *testing.T) {
	rules, err := parseRules(rulesYAML)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, want := range map[string]int{
		"The load is dealt anew.":                         2,
		"The operator rebalances the load.":               0,
		"There is no shard 3.":                            0,
		"This is no longer so, and there are no retries.": 0,
		"A shard is no worker.":                           1,
		"The limit is on top of it.":                      0,
		"The run goes on for ever.":                       2,
		"The API server rejects nothing that is not set.": 1,
	} {
		var got []string
		for _, a := range check(rules, page("docs/a.md", sentence, true)) {
			got = append(got, a.found)
		}
		if len(got) != want {
			t.Errorf("%s: alerts %q, want %d", sentence, got, want)
		}
	}
}

func TestRulesAreChecked(t *testing.T) {
	for content, want := range map[string]string{
		"rules:\n- {match: a}\n":                                "match and write are required",
		"rules:\n- {match: '(', write: b}\n":                    "missing closing",
		"rules:\n- {match: a, write: b, except: [{path: a}]}\n": "needs path and reason",
		"rules:\n- {match: a, wirte: b}\n":                      "wirte not found",
	} {
		if _, err := parseRules([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", content, err, want)
		}
	}
}
