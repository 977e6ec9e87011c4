package collect

import (
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/transport"
)

// The types of other packages in the API of a Registry.
type (
	Abort    = shards.Abort
	Applied  = shards.Applied
	Desired  = shards.Desired
	Live     = shards.Live
	Loss     = shards.Loss
	Pod      = shards.Pod
	Probe    = shards.Probe
	Probes   = shards.Probes
	Recorded = shards.Recorded
	Shard    = shards.Shard
	View     = shards.View
	Client   = transport.Client
	Poll     = transport.Poll
)

// The functions and errors of other packages that belong to them.
var (
	HTTPS       = transport.HTTPS
	ErrConflict = transport.ErrConflict
	HadSlots    = shards.HadSlots
)
