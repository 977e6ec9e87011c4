package convert

import (
	"math"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// longestPeriod is that of requestsPer, in seconds.
const longestPeriod = 24 * 60 * 60

// SetRate sets the rate of a stage to perSecond requests per second, or to a closed loop for 0. It returns false if a
// stage cannot have this rate.
func SetRate(r *v1alpha1.Rate, perSecond float64) bool {
	switch {
	case math.IsNaN(perSecond) || perSecond < 0 || perSecond > 1e8:
		return false
	case perSecond == 0:
		r.ClosedLoop = &v1alpha1.ClosedLoop{}
		return true
	case perSecond == math.Trunc(perSecond):
		r.RequestsPerSecond = new(int64(perSecond))
		return true
	}
	for period := 2.0; period <= longestPeriod; period++ {
		count := math.Round(perSecond * period)
		if count >= 1 && count <= 1e8 && math.Abs(count-perSecond*period) <= 1e-9*period*perSecond {
			r.RequestsPer = &v1alpha1.RequestsPer{Count: int64(count),
				Period: v1alpha1.Duration{Duration: time.Duration(period) * time.Second}}
			return true
		}
	}
	return false
}

// Seconds is a duration; what no duration can hold is refused.
func Seconds(s float64) (time.Duration, bool) {
	ns := s * float64(time.Second)
	if math.IsNaN(ns) || ns < 0 || ns >= math.MaxInt64 {
		return 0, false
	}
	return time.Duration(math.Round(ns)), true
}

// Given is a duration of the API.
func Given(d time.Duration) *v1alpha1.Duration { return &v1alpha1.Duration{Duration: d} }
