package cli

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/version"
)

// lintFormats write the result of lint.
var lintFormats = map[string]func(io.Writer, *linted) error{
	command.OutputText: writeLintText, command.OutputJSON: writeLintJSON, "github": writeLintGitHub,
	"sarif": writeLintSARIF,
}

func writeLintText(w io.Writer, r *linted) error {
	var b strings.Builder
	for _, f := range r.findings {
		if f.File != "" {
			b.WriteString(compile.Place(f.File, f.Line))
		}
		if f.Level != isError.String() {
			b.WriteString(f.Level + ": ")
		}
		b.WriteString(f.Message + "\n")
	}
	if !r.failed {
		b.WriteString(r.summary() + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is the line about a result without errors: "2 LoadTests are valid".
func (r *linted) summary() string {
	var counts []string
	all := 0
	for _, kind := range []string{"LoadTest", "LoadTestSchedule", rules.Kind} {
		if n := r.checked[kind]; n > 0 {
			counts, all = append(counts, build.Plural(n, kind)), all+n
		}
	}
	switch all {
	case 0:
		return "there is no LoadTest to check"
	case 1:
		return counts[0] + " is valid"
	}
	return strings.Join(counts, ", ") + " are valid"
}

func writeLintJSON(w io.Writer, r *linted) error {
	return command.WriteDocument(w, command.OutputJSON, struct {
		Valid    bool           `json:"valid"`
		Checked  map[string]int `json:"checked"`
		Findings []finding      `json:"findings"`
	}{!r.failed, r.checked, append([]finding{}, r.findings...)})
}

var (
	gitHubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	gitHubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// writeLintGitHub writes workflow commands, which GitHub Actions shows as annotations.
func writeLintGitHub(w io.Writer, r *linted) error {
	for _, f := range r.findings {
		command := map[string]string{"note": "notice"}[f.Level]
		if command == "" {
			command = f.Level
		}
		properties := " file=" + gitHubProperty.Replace(f.File)
		if f.Line > 0 {
			properties += fmt.Sprintf(",line=%d", f.Line)
		}
		if f.File == "" {
			properties = ""
		}
		if _, err := fmt.Fprintf(w, "::%s%s::%s\n", command, properties, gitHubText.Replace(f.Message)); err != nil {
			return err
		}
	}
	return nil
}

// The types are the parts of SARIF 2.1.0 (OASIS) that a result needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name           string      `json:"name"`
				Version        string      `json:"version"`
				InformationURI string      `json:"informationUri"`
				Rules          []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region sarifRegion `json:"region"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// sarifRuleID is the only rule: the messages are of too many kinds for rules of their own.
const sarifRuleID = "manifest"

func writeLintSARIF(w io.Writer, r *linted) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name, run.Tool.Driver.Version, run.Tool.Driver.InformationURI = "h2surge", version.Get().Version,
		"https://github.com/h2surge/h2surge"
	run.Tool.Driver.Rules = []sarifRule{{sarifRuleID, sarifText{"A manifest has a mistake."}}}
	for _, f := range r.findings {
		result := sarifResult{RuleID: sarifRuleID, Level: f.Level, Message: sarifText{f.Message}}
		if f.File != "" {
			at := sarifLocation{}
			at.PhysicalLocation.ArtifactLocation.URI = (&url.URL{Path: filepath.ToSlash(f.File)}).String()
			at.PhysicalLocation.Region = sarifRegion{max(f.Line, 1)} // GitHub refuses a result without a region
			result.Locations = []sarifLocation{at}
		}
		run.Results = append(run.Results, result)
	}
	return command.WriteDocument(w, command.OutputJSON,
		sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
