package build

import (
	"fmt"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// NotificationErrors returns what is wrong with the notifications of a listener: "200 missing (150 came late), 3
// duplicate". It leaves out zeros, and is empty if each awaited notification came once, in time, and passed its
// checks. format writes a count.
func NotificationErrors(c *runnerv1alpha1.ListenerCounts, format func(int64) string) string {
	late, lateOfMissing := c.Late, ""
	if c.Missing > 0 && c.Late > 0 {
		late, lateOfMissing = 0, " ("+format(c.Late)+" came late)"
	}
	var out []string
	for _, e := range []struct {
		n    int64
		name string
	}{
		{c.Missing, "missing" + lateOfMissing},
		{late, "late"},
		{c.FailedChecks, "failed checks"},
		{c.Unexpected, "unexpected (no step awaited them)"},
		{c.Duplicate, "duplicate"},
		{c.RefusedToken, "refused (no valid access token)"},
		{c.RefusedCertificate, "refused (name of the client certificate)"},
		{c.FailedHandshakes, "failed handshakes"},
		{c.Waiting + c.WaitingAtEnd, "awaited at the end"},
	} {
		if e.n > 0 {
			out = append(out, fmt.Sprintf("%s %s", format(e.n), e.name))
		}
	}
	return strings.Join(out, ", ")
}
