package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// minRate is the lowest rate that a command sets. To stop the load for a while, a user sets spec.suspend.
const minRate = 1

// maxRate is the maximum of requestsPerSecond.
func maxRate() int64 {
	_, most := compile.Range("rates.requestsPerSecond")
	return most
}

// RateChange is a new rate, or a change of the current rate in percent.
type RateChange struct {
	rate    int64
	percent float64
}

// ParseRate reads requests a second, such as 5000, or a change in percent, such as +10% or -2.5%.
func ParseRate(s string) (RateChange, error) {
	if share, is := strings.CutSuffix(s, "%"); is {
		p, err := strconv.ParseFloat(share, 64)
		if err != nil || !strings.HasPrefix(share, "+") && !strings.HasPrefix(share, "-") || math.Abs(p) > 1e6 ||
			math.IsNaN(p) {
			return RateChange{}, fmt.Errorf(
				"RATE: %q is not a change; allowed: a percentage with a sign, such as +10%% or -10%%", s)
		}
		return RateChange{percent: p}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < minRate || n > maxRate() {
		return RateChange{}, fmt.Errorf(
			"RATE: %q is not a rate; allowed: %d to %d requests per second, or a change such as +10%% or -10%%", s, minRate,
			maxRate())
	}
	return RateChange{rate: n}, nil
}

// of returns the new rate. It is within the bounds, and a change in percent changes it by at least 1. A lower rate of a
// stage that pauses is 0.
func (r RateChange) of(old int64) int64 {
	if r.rate > 0 {
		return r.rate
	}
	n := int64(math.Round(float64(old) * (1 + r.percent/100)))
	switch {
	case n == old && r.percent > 0:
		n++
	case n == old && r.percent < 0:
		n--
	}
	return min(max(n, min(minRate, old)), maxRate())
}

// ofRamp returns the new rate of an end of a ramp, which is changed in percent. It can be 0.
func (r RateChange) ofRamp(old int64) int64 {
	return min(max(int64(math.Round(float64(old)*(1+r.percent/100))), 0), maxRate())
}

// ChangeRate changes requestsPerSecond, chainsPerSecond, or concurrency of a stage. If stage is empty, it is the
// active stage, or the only stage that is not a warm-up. Of a ramp, a new rate is the rate at its end, and a change
// in percent changes both ends. It returns the message for the user.
func (c *Cluster) ChangeRate(ctx context.Context, name, stage string, change RateChange, now time.Time) (string,
	error) {
	lt, err := c.Get(ctx, name)
	if err != nil {
		return "", err
	}
	if Finished(lt) {
		return "", fmt.Errorf("%s has already ended: %s", name, lt.Status.Phase)
	}
	r, at, err := chooseStage(lt, stage, now)
	if err != nil {
		return "", err
	}
	switch {
	case r.RequestsPer != nil:
		return "", fmt.Errorf("stage %s has requestsPer (%d in %s); this command changes only requestsPerSecond, chainsPerSecond and concurrency; use: kubectl edit loadtest %s", r.Name, r.RequestsPer.Count, r.RequestsPer.Period.Duration, name)
	case r.ClosedLoop != nil && r.ClosedLoop.Concurrency == nil:
		return "", fmt.Errorf("stage %s is a closed loop without concurrency; it has no rate", r.Name)
	case r.ClosedLoop != nil && r.Requests != nil:
		return "", fmt.Errorf("stage %s is a closed loop that ends by requests; its concurrency cannot change", r.Name)
	}
	field, unit, current := "requestsPerSecond", "/s", r.RequestsPerSecond
	switch {
	case r.ChainsPerSecond != nil:
		field, unit, current = "chainsPerSecond", " chains/s", r.ChainsPerSecond
	case r.ClosedLoop != nil:
		field, unit, current = "closedLoop/concurrency", " in flight", r.ClosedLoop.Concurrency
	}
	edits := []rateEdit{{field, *current, change.of(*current)}}
	if r.RampFrom != nil {
		edits = append(edits, rateEdit{"rampFrom", *r.RampFrom, change.ofRamp(*r.RampFrom)})
		edits[0].to = change.ofRamp(*current)
		if change.rate > 0 {
			edits[0].to, edits[1].to = change.rate, *r.RampFrom
		}
	}
	old, rate := editText(edits, rateEdit.before)+unit, editText(edits, rateEdit.after)+unit
	if rate == old {
		return fmt.Sprintf("stage %s of %s already has %s", r.Name, name, old), nil
	}
	patch, err := ratePatch(at, r.Name, edits)
	if err != nil {
		return "", err
	}
	if err := c.client.Patch(ctx, lt, client.RawPatch(types.JSONPatchType, patch),
		client.FieldOwner(FieldOwner)); err != nil {
		return "", err
	}
	return fmt.Sprintf("stage %s of %s: %s -> %s", r.Name, name, old, rate), nil
}

// rateEdit changes a field of a stage. The field is a path below the stage.
type rateEdit struct {
	field    string
	from, to int64
}

func (e rateEdit) before() int64 { return e.from }
func (e rateEdit) after() int64  { return e.to }

// editText is such as "5000", or "100 to 5000" for a ramp.
func editText(edits []rateEdit, value func(rateEdit) int64) string {
	text := strconv.FormatInt(value(edits[0]), 10)
	if len(edits) > 1 {
		text = fmt.Sprintf("%d to %s", value(edits[1]), text)
	}
	return text
}

// ratePatch returns a JSON patch (RFC 6902). The API server rejects it if the stage has another index or another rate
// than in the LoadTest from which the new rate was computed.
func ratePatch(at, stage string, edits []rateEdit) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	out := []operation{{"test", at + "/name", stage}}
	for _, e := range edits {
		out = append(out, operation{"test", at + "/" + e.field, e.from}, operation{"replace", at + "/" + e.field, e.to})
	}
	return json.Marshal(out)
}

// chooseStage returns the stage to change and its path as a JSON pointer (RFC 6901). Stages of chains need a name,
// unless the test has only one stage.
func chooseStage(lt *v1alpha1.LoadTest, name string, now time.Time) (*v1alpha1.Rate, string, error) {
	var names, measured []string
	var only *v1alpha1.Rate
	var onlyAt string
	lists := []struct {
		rates []v1alpha1.Rate
		at    string
	}{{lt.Spec.Rates, "/spec/rates/"}}
	for i := range lt.Spec.Chains {
		lists = append(lists, struct {
			rates []v1alpha1.Rate
			at    string
		}{lt.Spec.Chains[i].Rates, fmt.Sprintf("/spec/chains/%d/rates/", i)})
	}
	for _, l := range lists {
		for i := range l.rates {
			r, at := &l.rates[i], l.at+strconv.Itoa(i)
			if r.Name == name {
				return r, at, nil
			}
			names = append(names, r.Name)
			if !r.WarmUp {
				measured, only, onlyAt = append(measured, r.Name), r, at
			}
		}
	}
	if name != "" {
		return nil, "", fmt.Errorf("%q is not a stage; allowed: %s", name, strings.Join(names, ", "))
	}
	if lt.Status.StartTime != nil {
		if s := StageAt(lt, now); s.Known {
			return &lt.Spec.Rates[s.Index], fmt.Sprintf("/spec/rates/%d", s.Index), nil
		}
	}
	if len(measured) != 1 {
		return nil, "", fmt.Errorf("STAGE: the argument is missing; allowed: %s", strings.Join(names, ", "))
	}
	return only, onlyAt, nil
}
