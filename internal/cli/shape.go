package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// shapeFlags are the flags for ramps and arrivals.
type shapeFlags struct {
	// rampFrom is negative without a ramp.
	rampFrom int64
	// arrivals is empty for the default.
	arrivals  string
	burstSize int64
}

// shapeNames are the names of these flags.
var shapeNames = []string{"ramp-from", "arrivals", "burst-size"}

func (f *shapeFlags) register(flags *pflag.FlagSet) {
	flags.Int64Var(&f.rampFrom, shapeNames[0], -1, "`number` of requests per second, or in flight with --concurrency, at the start of a linear ramp to --rps or --concurrency over the time -D; default: no ramp")
	flags.Lookup(shapeNames[0]).DefValue = "0" // no default in the help
	flags.StringVar(&f.arrivals, shapeNames[1], "", "`spacing` of the requests of --rps: Even, Poisson or Burst (default Even)")
	flags.Int64Var(&f.burstSize, shapeNames[2], 0, "`number` of requests in each burst of --arrivals Burst")
}

// check returns the mistakes that the compiler would report as fields that the user did not write.
func (f *shapeFlags) check(u *urlForm) (wrong []string) {
	given := u.own.Changed(shapeNames[0])
	switch {
	case given && (f.rampFrom < 0 || f.rampFrom > maxRate()):
		wrong = append(wrong, fmt.Sprintf("--ramp-from: must be between 0 and %d", maxRate()))
	case given && u.rps.count == 0 && u.concurrency == 0:
		wrong = append(wrong, "--ramp-from: needs --rps or --concurrency, where the ramp ends")
	case given && u.duration == 0:
		wrong = append(wrong, "--ramp-from: needs -D, the length of the ramp")
	case given && u.warmUp > 0:
		wrong = append(wrong, "--ramp-from: is not allowed with --warm-up-time; a manifest can have a warm-up before a ramp")
	}
	if (f.arrivals != "" || f.burstSize != 0) && u.rps.count == 0 {
		wrong = append(wrong, "--arrivals: needs --rps")
	}
	return wrong
}

// apply sets the ramp and the arrivals of a stage, whose rate is rps if that is not zero.
func (f *shapeFlags) apply(stage *v1alpha1.Rate, rps *requestRate) {
	if f.rampFrom >= 0 {
		from := f.rampFrom
		if rps.count > 0 {
			from *= int64(rps.period / time.Second)
		}
		stage.RampFrom = &from
	}
	stage.Arrivals = v1alpha1.Arrivals(f.arrivals)
	if f.burstSize != 0 {
		stage.BurstSize = &f.burstSize
	}
}
