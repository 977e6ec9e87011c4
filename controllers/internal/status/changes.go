package status

import (
	"fmt"
	"strconv"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// changesShown are edits as status shows them.
func changesShown(edits []record.Edit) []v1alpha1.Change {
	var out []v1alpha1.Change
	for i := range edits {
		e := &edits[i]
		out = append(out, v1alpha1.Change{
			Generation: e.Generation, Time: e.Time, Field: e.Field, From: valueText(e, e.From), To: valueText(e, e.To),
			AppliedAt: e.AppliedAt,
		})
	}
	return out
}

func valueText(e *record.Edit, v record.Value) string {
	switch {
	case v.Rate != nil && v.Rate.Period == 0 && v.Rate.Count == 0:
		return "every stream" // of a closed loop
	case v.Rate != nil:
		return rateText(v.Rate)
	case e.Field == run.FieldShards:
		return strconv.Itoa(v.Shards)
	}
	return strconv.FormatBool(v.Suspended)
}

// rateText is such as "5000", "1 per 1m0s" or "100 to 5000".
func rateText(r *record.Rate) string {
	text := strconv.FormatInt(r.Count, 10)
	if r.Ramp {
		text = fmt.Sprintf("%d to %d", r.RampFrom, r.Count)
	}
	if r.Period != time.Second && r.Period != 0 {
		text += " per " + r.Period.String()
	}
	return text
}
