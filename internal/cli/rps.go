package cli

import (
	"fmt"
	"math/big"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// decimal is a number such as 5000 or 0.25, of at most six decimals.
var decimal = lazy.Regexp(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)

// maxRatePeriod is the bound of requestsPer.period.
const maxRatePeriod = 24 * time.Hour

// perSecond reads requests per second. 2.5 becomes 5 requests in 2 s.
func perSecond(text string) (*v1alpha1.RequestsPer, error) {
	if !decimal().MatchString(text) {
		return nil, fmt.Errorf("%q is not a number of requests per second; allowed: numbers such as 5000 or 0.5", text)
	}
	rate, _ := new(big.Rat).SetString(text) // it takes all decimals
	if rate.Sign() == 0 {
		return nil, fmt.Errorf("%q is not a load; allowed: numbers such as 5000 or 0.5; without --rps, the target decides the rate", text)
	}
	period := time.Duration(rate.Denom().Int64()) * time.Second
	if period > maxRatePeriod {
		return nil, fmt.Errorf("%q needs a period of more than 24h; allowed: numbers such as 5000, 0.5 or 0.0001", text)
	}
	// The bound of requestsPer.count is that of a rate. A rate above it is left to the compiler.
	if most := new(big.Rat).SetInt64(maxRate()); rate.Cmp(most) <= 0 && rate.Num().Int64() > maxRate() {
		return nil, fmt.Errorf("%q has too many decimals for this rate; allowed: numbers such as %s", text, rate.FloatString(0))
	}
	return &v1alpha1.RequestsPer{Count: rate.Num().Int64(), Period: v1alpha1.Duration{Duration: period}}, nil
}

// rates returns the rate of the flags, after its warm-up.
func (u *urlForm) rates() []v1alpha1.Rate {
	main := v1alpha1.Rate{Name: "load", Duration: u.duration, RampFrom: u.rampFrom, Arrivals: u.arrivals,
		BurstSize: unlessZero(u.burstSize)}
	if u.duration == nil {
		main.Requests = &u.requests
	}
	switch {
	case u.rps == nil:
		main.ClosedLoop = &v1alpha1.ClosedLoop{Concurrency: u.concurrency}
	case u.rps.Period.Duration == time.Second:
		main.RequestsPerSecond = &u.rps.Count
	default:
		main.RequestsPer = u.rps
		if u.rampFrom != nil { // it is in requests per second
			main.RampFrom = new(*u.rampFrom * u.seconds())
		}
	}
	if u.warmUp == nil {
		return []v1alpha1.Rate{main}
	}
	warm := main
	warm.Name, warm.WarmUp, warm.Duration, warm.Requests = "warm-up", true, u.warmUp, nil
	return []v1alpha1.Rate{warm, main}
}

// seconds is the length of the period of --rps.
func (u *urlForm) seconds() int64 { return int64(u.rps.Period.Duration / time.Second) }

// checkShape returns the mistakes in ramps and arrivals that the compiler would report as fields that the user did not
// write.
func (u *urlForm) checkShape() (wrong []string) {
	switch from := u.rampFrom; {
	case from == nil:
	case *from < 0 || *from > maxRate():
		wrong = append(wrong, fmt.Sprintf("--ramp-from: must be between 0 and %d", maxRate()))
	case u.rps != nil && *from > maxRate()/u.seconds():
		wrong = append(wrong, fmt.Sprintf("--ramp-from: is too high for the decimals of --rps; allowed: at most %d, or more if --rps has fewer decimals",
			maxRate()/u.seconds()))
	case u.rps == nil && u.concurrency == nil:
		wrong = append(wrong, "--ramp-from: needs --rps or --concurrency, where the ramp ends")
	case u.duration == nil:
		wrong = append(wrong, "--ramp-from: needs -D, the length of the ramp")
	case u.warmUp != nil:
		wrong = append(wrong, "--ramp-from: is not allowed with --warm-up-time; a manifest can have a warm-up before a ramp")
	}
	if (u.arrivals != "" || u.burstSize != 0) && u.rps == nil {
		wrong = append(wrong, "--arrivals: needs --rps")
	}
	return wrong
}
