package chain

import (
	"fmt"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// timestamps formats instants. A drawn value is nanoseconds since 1970, without the offset.
type timestamps struct {
	layout string // of package time; empty: a number
	unit   int64  // of the number, in nanoseconds
	offset int64
}

var timeLayouts = map[rv.TimeFormat]timestamps{
	rv.TimeRFC3339:           {layout: "2006-01-02T15:04:05Z"},
	rv.TimeRFC3339Milli:      {layout: "2006-01-02T15:04:05.000Z"},
	rv.TimeEpochSeconds:      {unit: int64(time.Second)},
	rv.TimeEpochMilliseconds: {unit: int64(time.Millisecond)},
	rv.TimeIMFFixdate:        {layout: imfFixdate},
	rv.TimeIMFFixdateMilli:   {layout: "Mon, 02 Jan 2006 15:04:05.000 GMT"},
}

// imfFixdate is the preferred format of dates in header fields (RFC 9110 5.6.7).
const imfFixdate = "Mon, 02 Jan 2006 15:04:05 GMT"

func newTimestamps(t *rv.Timestamp) (timestamps, error) {
	out, ok := timeLayouts[t.Format]
	if !ok {
		return out, fmt.Errorf("format: there is no %q", t.Format)
	}
	out.offset = int64(t.Offset)
	return out, nil
}

// plain is false for the blanks of one format.
func (*timestamps) Plain() bool { return false }

func (t *timestamps) Append(dst []byte, v int64, _ int) []byte {
	v += t.offset
	if t.layout != "" {
		return time.Unix(0, v).UTC().AppendFormat(dst, t.layout)
	}
	n := v / t.unit
	if v%t.unit < 0 {
		n-- // round down also before 1970
	}
	return strconv.AppendInt(dst, n, 10)
}
