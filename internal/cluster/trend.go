package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
)

// Runs returns the LoadTests of a schedule that the cluster keeps, the oldest first. A schedule that does not exist is
// an error.
func (c *Cluster) Runs(ctx context.Context, schedule string) ([]v1alpha1.LoadTest, error) {
	tests, err := c.List(ctx, false, v1alpha1.LabelSchedule+"="+schedule)
	if err != nil {
		return nil, err
	}
	if len(tests) == 0 {
		if err := c.client.Get(ctx, c.key(schedule), &v1alpha1.LoadTestSchedule{}); err != nil {
			return nil, c.explain(err)
		}
	}
	slices.Reverse(tests)
	return tests, nil
}

// Trend returns a table with a line for each run of a schedule.
func Trend(tests []v1alpha1.LoadTest) []string {
	rows := [][]string{{"NAME", "STARTED", "RATE", "P50", "P99", "ERRORS", "VERDICT"}}
	for i := range tests {
		lt := &tests[i]
		s := v1alpha1.Summary{}
		if lt.Status.Summary != nil {
			s = *lt.Status.Summary
		}
		started := "-"
		if at := lt.Status.StartTime; at != nil {
			started = at.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{lt.Name, started, orDash(s.Rate), orDash(s.P50), orDash(s.P99), orDash(s.Errors),
			verdictText(lt)})
	}
	return aligned(rows)
}

// verdictText returns "Failed (ThresholdsFailed)", or the phase of a test that has not ended in parentheses.
func verdictText(lt *v1alpha1.LoadTest) string {
	v := lt.Status.Verdict
	switch {
	case v == nil:
		return "- (" + phase(lt) + ")"
	case v.Reason == v.Outcome:
		return mask.Line(v.Outcome)
	}
	return mask.Line(v.Outcome + " (" + v.Reason + ")")
}

// aligned returns rows as lines of a table.
func aligned(rows [][]string) []string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // A strings.Builder does not fail.
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
