package v1alpha1

import (
	"testing"
	"time"
)

func TestMismatch(t *testing.T) {
	const (
		leases   = "The runner (build unknown) has protocol version 1, the operator (build v2) has version 8, and the test needs version 2. Use a runner image and an operator of the same version"
		idle     = "The runner (build v1) has protocol version 2, the operator (build v2) has version 8, and the test needs version 3. Use a runner image and an operator of the same version"
		chains   = "The runner (build v1) has protocol version 3, the operator (build v2) has version 8, and the test needs version 4. Use a runner image and an operator of the same version"
		notified = "The runner (build v1) has protocol version 5, the operator (build v2) has version 8, and the test needs version 6. Use a runner image and an operator of the same version"
		traced   = "The runner (build v2) has protocol version 3, the operator (build v2) has version 8, and the test needs version 4. Use a runner image and an operator of the same version"
		limited  = "The runner (build v1) has protocol version 6, the operator (build v2) has version 8, and the test needs version 7. Use a runner image and an operator of the same version"
		rejected = "The runner (build v3) has protocol version 9, the operator (build v2) has version 8, and the test needs version 1; the runner rejected the plan: unknown field. Use a runner image and an operator of the same version"
	)
	for name, tt := range map[string]struct {
		lease     time.Duration
		idle      IdleStrategy
		interval  time.Duration
		batch     bool
		listeners []Listener
		limit     int64
		chains    bool
		trace     *Traceparent
		snapshot  Snapshot
		want      string
	}{
		"same build":                 {lease: time.Minute, snapshot: Snapshot{Protocol: ProtocolVersion, Version: "v2"}},
		"previous build":             {},
		"previous build, leases":     {lease: time.Minute, want: leases},
		"previous build, Spin":       {idle: IdleSpin, snapshot: Snapshot{Protocol: 2, Version: "v1"}, want: idle},
		"previous build, interval":   {interval: time.Millisecond, snapshot: Snapshot{Protocol: 2, Version: "v1"}, want: idle},
		"previous build, Batch":      {batch: true, snapshot: Snapshot{Protocol: 2, Version: "v1"}, want: idle},
		"previous build, chains":     {chains: true, snapshot: Snapshot{Protocol: 3, Version: "v1"}, want: chains},
		"previous build, traces":     {trace: &Traceparent{Ratio: 0.1}, snapshot: Snapshot{Protocol: 3, Version: "v2"}, want: traced},
		"previous build, listeners":  {listeners: []Listener{{}}, snapshot: Snapshot{Protocol: 5, Version: "v1"}, want: notified},
		"previous build, a limit":    {limit: 1, snapshot: Snapshot{Protocol: 6, Version: "v1"}, want: limited},
		"later build":                {lease: time.Minute, idle: IdleSleep, snapshot: Snapshot{Protocol: 8, Version: "v3"}},
		"later build rejects":        {snapshot: Snapshot{Protocol: 9, Version: "v3", Problem: ProblemPlan, Message: "unknown field"}, want: rejected},
		"same build rejects":         {snapshot: Snapshot{Protocol: ProtocolVersion, Problem: ProblemPlan}},
		"another problem of a later": {snapshot: Snapshot{Protocol: 8, Problem: ProblemConnect}},
	} {
		p := Plan{RequestLimit: tt.limit, Listeners: tt.listeners, LeaseDuration: tt.lease, IdleStrategy: tt.idle, SleepInterval: tt.interval, Targets: []Target{{Batch: tt.batch}}, Rates: []Rate{{Count: 1, ChainsPerSecond: tt.chains}}, Variables: []Variable{{Traceparent: tt.trace}}}
		if got := tt.snapshot.Mismatch(&p, "v2"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestRequiredProtocol: what an earlier runner rejects, or would execute in another way, needs a later version.
func TestRequiredProtocol(t *testing.T) {
	for name, tt := range map[string]struct {
		plan Plan
		want int
	}{
		"a rate":                {Plan{Rates: []Rate{{Count: 1, Period: time.Second}}}, 1},
		"a closed loop":         {Plan{Rates: []Rate{{ClosedLoop: true}}}, 1},
		"a lease":               {Plan{LeaseDuration: time.Minute}, 2},
		"a concurrency":         {Plan{Rates: []Rate{{ClosedLoop: true, Count: 5}}}, 4},
		"a pause":               {Plan{Rates: []Rate{{Period: time.Second}}}, 4},
		"a ramp":                {Plan{Rates: []Rate{{Count: 1, RampFrom: new(int64)}}}, 4},
		"Poisson":               {Plan{Rates: []Rate{{Count: 1, Arrivals: ArrivalsPoisson}}}, 4},
		"a client assertion":    {Plan{Targets: []Target{{ClientAssertion: &ClientAssertion{}}}}, 6},
		"a client certificate":  {Plan{Targets: []Target{{Auth: &Auth{OAuth2: &OAuth2{CertFile: "a", KeyFile: "b"}}}}}, 5},
		"shared credentials":    {Plan{Targets: []Target{{FollowWithCredentials: true}}}, 6},
		"redirects":             {Plan{Chains: []Chain{{Steps: []Step{{MaxRedirects: 1}}}}}, 6},
		"an authority":          {Plan{Chains: []Chain{{Steps: []Step{{Authority: Text{{Capture: 1}}}}}}}, 6},
		"retries":               {Plan{Chains: []Chain{{Steps: []Step{{OnFailure: OnFailure{Retries: 1}}}}}}, 6},
		"parts":                 {Plan{Chains: []Chain{{Steps: []Step{{}, {Parts: []BodyPart{{}}}}}}}, 5},
		"a check of a part":     {Plan{Chains: []Chain{{Steps: []Step{{Expect: Expect{Checks: []Check{{Source: &Source{Part: "a"}}}}}}}}}, 5},
		"a schema of a part":    {Plan{Chains: []Chain{{Steps: []Step{{Expect: Expect{Checks: []Check{{SchemaPart: "a"}}}}}}}}, 5},
		"a capture of octets":   {Plan{Chains: []Chain{{Steps: []Step{{Capture: []Capture{{Source: Source{Kind: SourceBodyHex}}}}}}}}, 5},
		"a capture of a body":   {Plan{Chains: []Chain{{Steps: []Step{{Capture: []Capture{{Source: Source{Kind: SourceBody}}}}}}}}, 1},
		"a search":              {Plan{Rates: []Rate{{Count: 1, Hold: true}}}, 4},
		"a stage of a chain":    {Plan{Rates: []Rate{{Count: 1, Chain: 1}}}, 4},
		"gracefulStop":          {Plan{GracefulStop: time.Second}, 4},
		"an http URL":           {Plan{Targets: []Target{{Protocol: ProtocolDiscovered}}}, 8},
		"rules of targets":      {Plan{Policy: &AddressPolicy{}}, 4},
		"a time of opening":     {Plan{Thresholds: []Threshold{{Metric: MetricTLSHandshake, Percentile: "p99", Max: "1s"}}}, 5},
		"a time of connections": {Plan{Thresholds: []Threshold{{Metric: MetricConnect, Percentile: "p99", Max: "1s"}}}, 4},
		"subscribers":           {Plan{Variables: []Variable{{Subscribers: &Subscribers{}}}}, 6},
		"a threshold on a part": {Plan{Thresholds: []Threshold{{Metric: MetricErrorRate, Of: Selector{Target: "t"}}}}, 4},
	} {
		if got := tt.plan.RequiredProtocol(); got != tt.want {
			t.Errorf("%s: version %d, want %d", name, got, tt.want)
		}
	}
}
