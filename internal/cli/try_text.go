package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/runner/trial"
)

// reason says why a step failed: what was found and what was wanted.
func (t *tried) reason(s *rv.Step, e *trial.Exchange, out *triedExchange) string {
	switch e.Why {
	case rv.AbortFailedCheck:
		for _, c := range out.Checks {
			if c.Name == e.Failed && !c.Passed {
				return c.reason()
			}
		}
	case rv.AbortMissingCapture:
		for i, v := range e.Captured {
			if needed := !s.Capture[i].Optional && !s.Capture[i].Keep; needed && !v.Has {
				return "capture " + t.plan.Chains[e.Chain].Captures[v.Slot] + ": " + uncaptured(&s.Capture[i].Source, e)
			}
		}
	case rv.AbortTimedOut:
		limit := cmp.Or(string(e.Cause.Kind), "timeout")
		if e.Status > 0 {
			return fmt.Sprintf("%s: the response, of status %d, was not complete within %v", limit, e.Status, s.Timeout)
		}
		return fmt.Sprintf("%s: no response within %v", limit, s.Timeout)
	case rv.AbortNotification:
		return fmt.Sprintf("no notification for listener %s within %v", t.plan.Listeners[s.Await.Listener].Name, s.Timeout)
	case rv.AbortLocation:
		return "not sent: the captured URI is of another scheme than the target's, or one authority too many"
	case rv.AbortScript:
		return "not sent: script: " + scriptWords(e)
	case rv.AbortDropped:
		return "not sent: " + e.Cause.Advised()
	case trial.Stopped:
		return "no response: interrupted"
	}
	return "no response: " + e.Cause.Advised()
}

// uncaptured says why a response has no value for a capture.
func uncaptured(source *rv.Source, e *trial.Exchange) string {
	if source.Kind == rv.SourceHeader && source.Name == "location" && source.Regex == "" && e.Response != nil {
		for _, f := range e.Response.Fields {
			if string(f.Name) == source.Name {
				return fmt.Sprintf("header location is %q, which is not an http or https URI", f.Value)
			}
		}
	}
	return "the response has no " + sourceWords(source)
}

func (c *triedCheck) reason() string {
	switch c.Name {
	case rv.CheckStatus:
		return fmt.Sprintf("status is %s; want %s", c.Found, c.Want)
	case rv.CheckScript:
		return "script: " + c.Found
	case rv.CheckUSIMChallenge, rv.CheckUSIMMAC, rv.CheckUSIMAMF, rv.CheckUSIMSQN, rv.CheckUSIMEAP,
		rv.CheckUSIMEAPMAC, rv.CheckUSIMNetwork, rv.CheckUSIMKDF:
		return c.Name + ": " + c.Found
	case rv.CheckBody:
		return fmt.Sprintf("%s: the body has %s; want %s", c.Name, c.Found, c.Want)
	}
	return fmt.Sprintf("check %s: %s; want %s", c.Name, c.Found, c.Want)
}

// usimWords are what a USIM found, by the name of the check.
var usimWords = map[string]string{
	rv.CheckUSIMChallenge: "the response has no challenge with RAND and AUTN",
	rv.CheckUSIMMAC:       "MAC of AUTN is wrong: the core has another key or operator variant",
	rv.CheckUSIMAMF:       "the separation bit of AMF is 0: the challenge is of an older network than 5G",
	rv.CheckUSIMSQN:       "the sequence number of AUTN is not fresh, and no step reads auts or eapPayload",
	rv.CheckUSIMEAP:       "the packet of EAP is not a challenge of EAP-AKA'",
	rv.CheckUSIMEAPMAC:    "AT_MAC is wrong: the core derives its keys from another identity or network name",
	rv.CheckUSIMNetwork:   "AT_KDF_INPUT has another name than servingNetwork of the subscriber",
	rv.CheckUSIMKDF:       "the key derivation function that AT_KDF prefers is not 1",
}

func scriptWords(e *trial.Exchange) string {
	if e.Script == "" {
		return "on_response rejected the response"
	}
	return mask.Line(e.Script)
}

// statusWords are ranges of status codes as the manifest writes them.
func statusWords(ranges []rv.StatusRange) string {
	if len(ranges) == 0 {
		return "below 400"
	}
	var out []string
	for _, r := range ranges {
		switch {
		case r.From == r.To:
			out = append(out, strconv.Itoa(r.From))
		case r.From%100 == 0 && r.To == r.From+99:
			out = append(out, strconv.Itoa(r.From/100)+"xx")
		default:
			out = append(out, fmt.Sprintf("%d to %d", r.From, r.To))
		}
	}
	return strings.Join(out, " or ")
}

// sourceWords name the part of an exchange that a value is taken from, as the manifest does.
func sourceWords(s *rv.Source) string {
	words := map[rv.SourceKind]string{
		rv.SourceHeader: "header " + s.Name, rv.SourceJSONPointer: "jsonPointer " + strconv.Quote(s.Pointer),
		rv.SourceXPath: "xpath " + s.XPath, rv.SourceJSONPath: "jsonPath " + s.JSONPath,
		rv.SourceRequestMethod: "request method", rv.SourceRequestPath: "request path", rv.SourceRequestBody: "request body",
		rv.SourceRequestHeader: "request header " + s.Name, rv.SourceRequestJSONPointer: "request jsonPointer " +
			strconv.Quote(s.Pointer), rv.SourceRequestJSONPath: "request jsonPath " + s.JSONPath,
	}[s.Kind]
	if words == "" {
		words = string(s.Kind)
	}
	if s.Part != "" {
		words += " of part " + s.Part
	}
	if s.Regex != "" {
		words += " that matches " + s.Regex
	}
	return words
}

func nanoseconds(b []byte) string {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return string(b)
	}
	return time.Duration(n).String()
}

// text is a block of the output.
func (e *triedExchange) text() string {
	var b strings.Builder
	b.WriteString(e.title() + "\n")
	for _, note := range e.Notes {
		b.WriteString("note: " + note + "\n")
	}
	e.Request.text(&b, "> ", e.full)
	e.Response.text(&b, "< ", e.full)
	e.Notification.text(&b, "< ", e.full)
	for _, c := range e.Captures {
		if c.Found {
			fmt.Fprintf(&b, "capture %s = %s\n", c.Name, mask.Line(c.Value))
		} else {
			fmt.Fprintf(&b, "capture %s: no value\n", c.Name)
		}
	}
	for i := range e.Checks {
		c := &e.Checks[i]
		switch {
		case !c.Passed:
			fmt.Fprintf(&b, "check %s: failed: %s\n", c.Name, strings.TrimPrefix(c.reason(), "check "+c.Name+": "))
		case c.Name == rv.CheckStatus:
			fmt.Fprintf(&b, "check status: passed: %s\n", c.Found)
		case c.Found == "":
			fmt.Fprintf(&b, "check %s: passed\n", c.Name)
		default:
			fmt.Fprintf(&b, "check %s: passed: %s\n", c.Name, c.Found)
		}
	}
	return b.String()
}

// title is the first line: which step it is, and why it failed.
func (e *triedExchange) title() string {
	s := "chain " + e.chain + ", step " + e.Step
	if e.phase != rv.PhaseLoad {
		s = string(e.phase) + " " + s
	}
	if e.Repeat > 1 {
		s += fmt.Sprintf(", repetition %d", e.Repeat)
	}
	if e.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	switch e.Outcome {
	case outcomeSkipped:
		if e.Reason != "" {
			return s + ": skipped: " + e.Reason
		}
		return s + ": skipped: its conditions in when are false"
	case outcomeNotSent:
		return s + ": not sent"
	case outcomeRedirected:
		return fmt.Sprintf("%s: redirected: %d in %s", s, e.Response.Status, build.FormatTime(e.took.Microseconds()))
	case outcomeFailed:
		if s += ": failed: " + e.Reason; e.Next != "" {
			s += "; " + e.Next
		}
		return s
	}
	if e.Notification != nil {
		return fmt.Sprintf("%s: passed: received %s after the request", s, build.FormatTime(e.took.Microseconds()))
	}
	return fmt.Sprintf("%s: passed: %d in %s", s, e.Response.Status, build.FormatTime(e.took.Microseconds()))
}

func (m *triedMessage) text(b *strings.Builder, mark string, full bool) {
	if m == nil {
		return
	}
	if m.Method != "" {
		fmt.Fprintf(b, "%s%s %s %s\n", mark, m.Method, m.URL, m.HTTP)
	} else {
		fmt.Fprintf(b, "%s%s %d\n", mark, m.HTTP, m.Status)
	}
	for _, f := range m.Fields {
		if !strings.HasPrefix(f.Name, ":") { // the first line has them
			fmt.Fprintf(b, "%s%s: %s\n", mark, f.Name, f.Value)
		}
	}
	if m.BodySize == 0 {
		return
	}
	body := m.Body
	switch {
	case m.parts != "":
		body = m.parts
	case m.BodyBase64 != "":
		body = "base64: " + m.BodyBase64
	}
	b.WriteString(strings.TrimRight(mark, " ") + "\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		b.WriteString(strings.TrimRight(mark+strings.TrimSuffix(line, "\r"), " ") + "\n")
	}
	switch {
	case m.Cut && full:
		fmt.Fprintf(b, "%s... (cut at maxBodyBytes; the body has %d bytes)\n", mark, m.BodySize)
	case m.Cut:
		fmt.Fprintf(b, "%s... (cut; the body has %d bytes; --full shows it whole)\n", mark, m.BodySize)
	}
}

// result is the whole output: the chains that were chosen, in the order in which they run.
func (t *tried) result(chains []int, problem string) *triedResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &triedResult{Passed: t.failed == 0 && problem == "" && !t.interrupted && !t.dry, Protocols: t.protocols,
		Listeners: t.listeners}
	for _, phase := range []rv.Phase{rv.PhaseSetup, rv.PhaseLoad, rv.PhaseTeardown} {
		for i := range t.chains {
			if c := &t.chains[i]; c.Phase == phase && (phase != rv.PhaseLoad || slices.Contains(chains, i)) {
				if c.Outcome == outcomeNotRun && len(c.Exchanges) > 0 && !t.dry { // its instance has not ended
					c.Outcome, c.Reason = outcomeFailed, "interrupted"
				}
				r.Chains = append(r.Chains, *c)
			}
		}
	}
	switch {
	case t.interrupted:
		r.Message = "interrupted"
	case t.dry:
		r.Message = "nothing was sent"
	case t.failed == 0:
		r.Message = problem
	}
	return r
}

// text is the end of the text output: a line for each http URL with its protocol, a line for each listener with
// notifications that are missing or that no step received, a line for each chain that failed, and the totals.
func (r *triedResult) text() string {
	var b strings.Builder
	for _, f := range r.Protocols {
		fmt.Fprintln(&b, f)
	}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		if wrong := build.NotificationErrors(&l.ListenerCounts,
			func(n int64) string { return strconv.FormatInt(n, 10) }); wrong != "" {
			fmt.Fprintf(&b, "listener %s: %s\n", l.Name, wrong)
		}
	}
	count := map[string]int{}
	for i := range r.Chains {
		c := &r.Chains[i]
		count[c.Outcome]++
		if c.Outcome == outcomeFailed {
			fmt.Fprintf(&b, "chain %s failed: %s\n", c.Name, c.Reason)
		}
	}
	fmt.Fprintf(&b, "%d of %d chains passed", count[outcomePassed], len(r.Chains))
	if n := count[outcomeFailed]; n > 0 {
		fmt.Fprintf(&b, ", %d failed", n)
	}
	if n := count[outcomeNotRun]; n > 0 {
		fmt.Fprintf(&b, ", %d not run", n)
	}
	b.WriteString("\n")
	return b.String()
}
