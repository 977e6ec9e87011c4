package plan

import (
	"regexp"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

var functions = []runnerv1alpha1.FunctionName{
	runnerv1alpha1.FunctionURLEncode, runnerv1alpha1.FunctionBase64, runnerv1alpha1.FunctionBase64URL, runnerv1alpha1.FunctionJSONEscape, runnerv1alpha1.FunctionHexDecode,
	runnerv1alpha1.FunctionUpper, runnerv1alpha1.FunctionLower, runnerv1alpha1.FunctionPad, runnerv1alpha1.FunctionSHA256,
	runnerv1alpha1.FunctionHMACSHA256, runnerv1alpha1.FunctionRESStar, runnerv1alpha1.FunctionHXRESStar, runnerv1alpha1.FunctionRoutingBinding,
}

func (c *checker) text(at string, chain *runnerv1alpha1.Chain, text runnerv1alpha1.Text) {
	for i := range text {
		c.part(at, chain, &text[i])
		for _, f := range text[i].Functions {
			c.function(at, chain, &f)
		}
	}
}

func (c *checker) part(at string, chain *runnerv1alpha1.Chain, part *runnerv1alpha1.Part) {
	set := count(part.Literal != "", part.Variable != 0, part.Capture != 0, part.Global != 0, part.Listener != 0, part.Content != nil)
	c.require(set == 1, "%s has a part with %d values", at, set)
	c.require(part.Variable >= 0 && part.Variable <= len(c.plan.Variables), "%s reads variable %d", at, part.Variable)
	c.require(part.Capture >= 0 && part.Capture <= len(chain.Captures), "%s reads capture %d", at, part.Capture)
	c.require(part.Listener >= 0 && part.Listener <= len(c.plan.Listeners), "%s reads listener %d", at, part.Listener)
	c.require(part.Global >= 0 && part.Global <= len(c.plan.Globals), "%s reads global %d", at, part.Global)
	isTable := part.Variable > 0 && part.Variable <= len(c.plan.Variables) && c.plan.Variables[part.Variable-1].HasColumns()
	ofListener := part.Listener > 0 && (part.Column == runnerv1alpha1.ListenerHost || part.Column == runnerv1alpha1.ListenerPort)
	c.require(ofListener || isTable == (part.Column != ""), "%s reads column %q of what is table %v", at, part.Column, isTable)
	c.content(at, part.Content)
}

func (c *checker) function(at string, chain *runnerv1alpha1.Chain, f *runnerv1alpha1.Function) {
	c.require(slices.Contains(functions, f.Name), "%s calls %q", at, f.Name)
	if f.Name == runnerv1alpha1.FunctionPad {
		c.require(f.Width > 0 && len(f.Fill) == 1, "%s pads to %d with %q", at, f.Width, f.Fill)
	}
	arguments := runnerv1alpha1.ArgumentsOf(f.Name)
	c.require(len(f.Arguments) == arguments, "%s calls %s with %d arguments", at, f.Name, len(f.Arguments))
	for i := range f.Arguments {
		c.part(at, chain, &f.Arguments[i])
	}
	if f.Name == runnerv1alpha1.FunctionHMACSHA256 {
		if f.Key == nil {
			c.require(false, "%s signs without a key", at)
			return
		}
		c.part(at, chain, f.Key)
	}
}

func (c *checker) conditions(at string, chain *runnerv1alpha1.Chain, conditions []runnerv1alpha1.Condition) {
	for i := range conditions {
		c.text(at, chain, conditions[i].Value)
		c.match(at, chain, &conditions[i].Match)
	}
}

var ops = []runnerv1alpha1.MatchOp{
	runnerv1alpha1.MatchEquals, runnerv1alpha1.MatchStartsWith, runnerv1alpha1.MatchEndsWith, runnerv1alpha1.MatchContains,
	runnerv1alpha1.MatchMatches, runnerv1alpha1.MatchExists, runnerv1alpha1.MatchLessThan, runnerv1alpha1.MatchGreaterThan,
}

func (c *checker) match(at string, chain *runnerv1alpha1.Chain, m *runnerv1alpha1.Match) {
	c.require(slices.Contains(ops, m.Op), "%s compares by %q", at, m.Op)
	c.text(at, chain, m.Want)
	if m.Op == runnerv1alpha1.MatchExists {
		c.require(!m.Not && len(m.Want) == 1 && (m.Want[0].Literal == "true" || m.Want[0].Literal == "false"), "%s does not want exists true or false", at)
	}
	c.require((m.Op == runnerv1alpha1.MatchMatches) == (m.Pattern != ""), "%s compares by %s with the pattern %q", at, m.Op, m.Pattern)
	_, err := regexp.Compile(m.Pattern)
	c.require(err == nil, "%s has a pattern that is not a regular expression", at)
}

// named are the sources that have a name, plain all others.
var (
	named = []runnerv1alpha1.SourceKind{runnerv1alpha1.SourceHeader, runnerv1alpha1.SourceRequestHeader}
	plain = []runnerv1alpha1.SourceKind{
		runnerv1alpha1.SourceStatus, runnerv1alpha1.SourceBody, runnerv1alpha1.SourceBodyHex, runnerv1alpha1.SourceBodySize, runnerv1alpha1.SourceResponseTime,
		runnerv1alpha1.SourceJSONPointer, runnerv1alpha1.SourceXPath, runnerv1alpha1.SourceRequestMethod, runnerv1alpha1.SourceRequestPath,
		runnerv1alpha1.SourceRequestBody, runnerv1alpha1.SourceRequestJSONPointer,
	}
)

func (c *checker) source(at string, s *runnerv1alpha1.Source) {
	hasName := slices.Contains(named, s.Kind)
	c.require(hasName || slices.Contains(plain, s.Kind), "%s takes its value from %q", at, s.Kind)
	c.require(hasName == (s.Name != ""), "%s takes the %s named %q", at, s.Kind, s.Name)
	c.require((s.Kind == runnerv1alpha1.SourceXPath) == (s.XPath != ""), "%s takes the %s %q", at, s.Kind, s.XPath)
	re, err := regexp.Compile(s.Regex)
	c.require(err == nil && s.Group >= 0 && s.Group <= re.NumSubexp(), "%s takes group %d of a regular expression that does not have this group", at, s.Group)
}
