package cluster

import (
	"strconv"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// History has the achieved rates of the last minute, one for each Look.
type History struct {
	rates []float64
}

// historyLength is one minute with one Look per second.
const historyLength = 60

// Add appends the rate of a test while load is sent.
func (h *History) Add(lt *v1alpha1.LoadTest) {
	if !sending(lt) || lt.Status.Summary == nil {
		return
	}
	rate, err := strconv.ParseFloat(lt.Status.Summary.Rate, 64)
	if err != nil {
		return // none yet
	}
	if len(h.rates) == historyLength {
		h.rates = h.rates[1:]
	}
	h.rates = append(h.rates, rate)
}

// sparkline returns one character for each of the newest values that fit into a width. The height of each is in
// eighths of the greatest value.
func sparkline(values []float64, width int) string {
	if len(values) > width {
		values = values[len(values)-max(width, 0):]
	}
	eighths := []rune("▁▂▃▄▅▆▇█")
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	out := make([]rune, 0, len(values))
	for _, v := range values {
		i := 0
		if top > 0 {
			i = min(len(eighths)-1, max(0, int(v/top*float64(len(eighths)))))
		}
		out = append(out, eighths[i])
	}
	return string(out)
}
