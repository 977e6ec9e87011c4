package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// requestRate is the value of --rps: count requests in each period. A count of zero means that no rate was given.
type requestRate struct {
	count  int64
	period time.Duration
}

// decimal is a number such as 5000 or 0.25, of at most six decimals.
var decimal = lazy.Regexp(`^([0-9]{1,12})(?:\.([0-9]{1,6}))?$`)

// maxRatePeriod is the bound of requestsPer.period.
const maxRatePeriod = 24 * time.Hour

func (r *requestRate) Type() string { return "number" }

// String is empty for zero, which means that there is not a rate.
func (r *requestRate) String() string {
	if r.count == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(r.count)/r.period.Seconds(), 'f', -1, 64)
}

// Set reads requests per second. 2.5 becomes 5 requests in 2 s.
func (r *requestRate) Set(text string) error {
	m := decimal().FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not a number of requests per second; allowed: numbers such as 5000 or 0.5", text)
	}
	count, err := strconv.ParseInt(m[1]+m[2], 10, 64)
	if err != nil {
		return fmt.Errorf("%q is too large", text)
	}
	seconds := int64(1)
	for range len(m[2]) {
		seconds *= 10
	}
	if count == 0 {
		return fmt.Errorf("%q is not a load; allowed: numbers such as 5000 or 0.5; without --rps, the target decides the rate", text)
	}
	divisor := greatestDivisor(count, seconds)
	r.count, r.period = count/divisor, time.Duration(seconds/divisor)*time.Second
	if r.period > maxRatePeriod {
		return fmt.Errorf("%q needs a period of more than 24h; allowed: numbers such as 5000, 0.5 or 0.0001", text)
	}
	return nil
}

func greatestDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// apply sets the rate of a stage.
func (r *requestRate) apply(stage *v1alpha1.Rate) {
	if r.period == time.Second {
		stage.RequestsPerSecond = &r.count
		return
	}
	stage.RequestsPer = &v1alpha1.RequestsPer{Count: r.count, Period: v1alpha1.Duration{Duration: r.period}}
}
