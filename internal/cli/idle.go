package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// idleFlags replace fields of spec.runner. They are allowed with a manifest and with a URL.
type idleFlags struct {
	strategy idleStrategy
	interval sleepInterval
}

func (f *idleFlags) register(flags *pflag.FlagSet) {
	flags.Var(&f.strategy, "idle-strategy",
		"`strategy` of a worker that waits: Spin (poll; uses the whole CPU), Sleep (send requests in batches) or Auto, instead of the manifest's (default Auto)")
	flags.Var(&f.interval, "sleep-interval",
		"`time` between batches with Sleep, from 10us to 10ms, instead of the manifest's (default 500us)")
}

// apply sets the fields of the flags that were given.
func (f *idleFlags) apply(r *v1alpha1.Runner) {
	if f.strategy != "" {
		r.IdleStrategy = v1alpha1.IdleStrategy(f.strategy)
	}
	if f.interval != 0 {
		r.SleepInterval = &v1alpha1.Duration{Duration: time.Duration(f.interval)}
	}
}

type idleStrategy v1alpha1.IdleStrategy

var idleStrategies = []string{string(v1alpha1.IdleStrategyAuto), string(v1alpha1.IdleStrategySpin),
	string(v1alpha1.IdleStrategySleep)}

func (*idleStrategy) Type() string     { return "strategy" }
func (s *idleStrategy) String() string { return string(*s) }

func (s *idleStrategy) Set(text string) error {
	if !slices.Contains(idleStrategies, text) {
		return fmt.Errorf("%q is not an idle strategy; allowed: %s", text, strings.Join(idleStrategies, ", "))
	}
	*s = idleStrategy(text)
	return nil
}

type sleepInterval time.Duration

func (*sleepInterval) Type() string { return "duration" }

func (s *sleepInterval) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *sleepInterval) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < rv.MinSleepInterval || d > rv.MaxSleepInterval {
		return fmt.Errorf("%q is not a sleep interval; allowed: durations from 10us to 10ms", text)
	}
	*s = sleepInterval(d)
	return nil
}
