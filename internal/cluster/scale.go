package cluster

import (
	"context"
	"fmt"
	"strconv"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
)

// ParseShards reads a number of shards.
func ParseShards(s string) (int32, error) {
	least, most := compile.Range("runner.shards")
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("SHARDS: %q is not a number of shards; allowed: %d to %d", s, least, most)
	}
	return int32(n), nil
}

// Scale changes spec.runner.shards. It returns the message for the user.
func (c *Cluster) Scale(ctx context.Context, name string, shards int32) (string, error) {
	lt, err := c.Get(ctx, name)
	if err != nil {
		return "", err
	}
	old := shardsOf(lt)
	switch {
	case Finished(lt):
		return "", fmt.Errorf("%s has already ended: %s", name, lt.Status.Phase)
	case old == shards:
		return fmt.Sprintf("spec.runner.shards of %s is already %d", name, old), nil
	}
	begun := lt.Status.StartTime != nil
	if stage := unscalable(lt); begun && stage != "" {
		return "", fmt.Errorf("stage %s is a closed loop with a number of requests, which the operator distributes at the start: %s keeps its %d shards", mask.Line(stage), name, old)
	}
	text := fmt.Sprintf("%s: %d -> %d shards", name, old, shards)
	switch {
	case begun && shards > old:
		text += "; new shards get a share of the load when they are ready"
	case begun:
		text += "; removed shards wait for their responses, and their counters are kept"
	}
	return text, c.merge(ctx, lt, fmt.Sprintf(`{"spec":{"runner":{"shards":%d}}}`, shards))
}

// unscalable returns the stage that prevents a change of the shards while the test runs, or "".
func unscalable(lt *v1alpha1.LoadTest) string {
	for i := range lt.Spec.Rates {
		if r := &lt.Spec.Rates[i]; r.EndsByCount() {
			return r.Name
		}
	}
	return ""
}
