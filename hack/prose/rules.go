package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

//go:embed rules.yaml
var rulesYAML []byte

type rule struct {
	match  *regexp.Regexp
	unless *regexp.Regexp // Nil if every match is an alert.
	names  *regexp.Regexp // Matches one word of an identifier; nil if the rule does not look at identifiers.
	rulesEntry
}

// rulesEntry is a rule as rules.yaml has it.
type rulesEntry struct {
	Match   string      `yaml:"match"`
	Unless  string      `yaml:"unless"`
	Names   string      `yaml:"names"`
	Write   string      `yaml:"write"`
	Visible bool        `yaml:"visible"`
	Except  []exception `yaml:"except"`
}

type exception struct {
	Path   string `yaml:"path"`
	Reason string `yaml:"reason"`
	// Text limits the exception to matches that it matches, with up to contextBytes on both sides.
	Text string `yaml:"text"`
	text *regexp.Regexp
}

const contextBytes = 60

type alert struct {
	file, found, write string
	line               int
}

func parseRules(content []byte) ([]rule, error) {
	var file struct {
		Rules []rulesEntry `yaml:"rules"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("rules.yaml: %w", err)
	}
	rules := make([]rule, 0, len(file.Rules))
	for i, e := range file.Rules {
		r := rule{rulesEntry: e}
		if e.Match == "" || e.Write == "" {
			return nil, fmt.Errorf("rules.yaml: rule %d: match and write are required", i)
		}
		var err error
		if r.match, err = words(`\b(?:`, e.Match, `)\b`); err != nil {
			return nil, err
		}
		if e.Unless != "" {
			if r.unless, err = words("", e.Unless, ""); err != nil {
				return nil, err
			}
		}
		if e.Names != "" {
			if r.names, err = words(`^(?:`, e.Names, `)$`); err != nil {
				return nil, err
			}
		}
		r.Except = slices.Clone(e.Except)
		for j, x := range r.Except {
			if x.Path == "" || x.Reason == "" {
				return nil, fmt.Errorf("rules.yaml: %s: an exception needs path and reason", e.Match)
			}
			if r.Except[j].text, err = words("", x.Text, ""); err != nil {
				return nil, err
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// words compiles a pattern of rules.yaml: in any case, and a blank matches any white space.
func words(before, pattern, after string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(`(?i)` + before + strings.ReplaceAll(pattern, " ", `\s+`) + after)
	if err != nil {
		return nil, fmt.Errorf("rules.yaml: %q: %w", pattern, err)
	}
	return re, nil
}

// check returns the alerts of one text, sorted by line.
func check(rules []rule, t text) []alert {
	var alerts []alert
	for _, r := range rules {
		if r.Visible && !t.visible {
			continue
		}
		if t.identifier {
			for _, w := range split(t.content) {
				if r.names != nil && r.names.MatchString(w) && !r.excepted(t.file, t.content) {
					alerts = append(alerts, alert{file: t.file, line: t.lines[0].line, found: t.content, write: r.Write})
					break
				}
			}
			continue
		}
		for _, m := range r.match.FindAllStringIndex(t.content, -1) {
			context := t.content[max(0, m[0]-contextBytes):min(len(t.content), m[1]+contextBytes)]
			if r.unless != nil && r.unless.MatchString(t.content[m[0]:min(len(t.content), m[1]+contextBytes)]) ||
				r.excepted(t.file, context) {
				continue
			}
			found := strings.Join(strings.Fields(t.content[m[0]:m[1]]), " ")
			alerts = append(alerts, alert{file: t.file, line: t.lineOf(m[0]), found: found, write: r.Write})
		}
	}
	sort.SliceStable(alerts, func(i, j int) bool { return alerts[i].line < alerts[j].line })
	return alerts
}

func (r rule) excepted(file, context string) bool {
	return slices.ContainsFunc(r.Except,
		func(x exception) bool { return within(file, x.Path) && x.text.MatchString(context) })
}

// within reports whether file is path, or is below it.
func within(file, path string) bool {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "./"), "/")
	return path == "." || file == path || strings.HasPrefix(file, path+"/")
}

// split returns the words of an identifier: dealShare gives deal and Share, HTTPServer gives HTTP and Server.
func split(name string) []string {
	var out []string
	start := 0
	runes := []rune(name)
	for i := range runes {
		lower := i > 0 && unicode.IsLower(runes[i-1]) && unicode.IsUpper(runes[i])
		last := i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsUpper(runes[i]) &&
			unicode.IsLower(runes[i+1])
		if lower || last || runes[i] == '_' {
			out = append(out, strings.Trim(string(runes[start:i]), "_"))
			start = i
		}
	}
	return append(out, strings.Trim(string(runes[start:]), "_"))
}
