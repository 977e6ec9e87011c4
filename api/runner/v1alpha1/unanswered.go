package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// above is the smallest value that stands for a time without an end. It is longer than every measured time: 2^52 us are
// 142 years. A float64 represents it, and each longer one, exactly.
const above = 1 << 52

// Above is the value of a time that was not measured because there was no response. It is greater than every measured
// time, and than the value for a smaller limit. The limit, in microseconds, is what the value is shown with: "> 5s" for
// 5,000,000.
func Above(limit int64) int64 { return above + min(max(limit, 0), above-1) }

// LimitOf returns 5,000,000 and true for Above(5000000). It returns us and false for a measured time.
func LimitOf(us int64) (limit int64, isAbove bool) {
	if us < above {
		return us, false
	}
	return us - above, true
}

// microseconds are written as a number, and as a text such as "> 5s" if they are Above a limit. No program can read the
// text as a short time.
type microseconds int64

// MarshalJSON implements json.Marshaler.
func (m microseconds) MarshalJSON() ([]byte, error) {
	if limit, is := LimitOf(int64(m)); is {
		text := strings.Replace((time.Duration(limit) * time.Microsecond).String(), "\u00b5s", "us", 1)
		return []byte(`"` + AboveText(text) + `"`), nil
	}
	return json.Marshal(int64(m))
}

// AboveText returns "> 5s" for "5s".
func AboveText(limit string) string { return "> " + limit }

// UnmarshalJSON implements json.Unmarshaler.
func (m *microseconds) UnmarshalJSON(from []byte) error {
	if len(from) == 0 || from[0] != '"' {
		return json.Unmarshal(from, (*int64)(m))
	}
	var text string
	if err := json.Unmarshal(from, &text); err != nil {
		return err
	}
	limit, found := strings.CutPrefix(text, "> ")
	d, err := time.ParseDuration(limit)
	if !found || err != nil {
		return fmt.Errorf("%q is not a time; allowed: microseconds, or a text such as %q", text, "> 5s")
	}
	*m = microseconds(Above(d.Microseconds()))
	return nil
}

// timesJSON are Times as they are written.
type timesJSON struct {
	Count      int64        `json:"count"`
	Unanswered int64        `json:"unanswered,omitempty"`
	Min        microseconds `json:"min"`
	Mean       int64        `json:"mean"`
	P50        microseconds `json:"p50"`
	P90        microseconds `json:"p90"`
	P95        microseconds `json:"p95"`
	P99        microseconds `json:"p99"`
	P999       microseconds `json:"p999"`
	Max        microseconds `json:"max"`
}

// MarshalJSON implements json.Marshaler.
func (t Times) MarshalJSON() ([]byte, error) {
	return marshal(timesJSON{
		t.Count, t.Unanswered, microseconds(t.Min), t.Mean, microseconds(t.P50), microseconds(t.P90), microseconds(t.P95),
		microseconds(t.P99), microseconds(t.P999), microseconds(t.Max),
	})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Times) UnmarshalJSON(from []byte) error {
	var j timesJSON
	if err := json.Unmarshal(from, &j); err != nil {
		return err
	}
	*t = Times{
		j.Count, j.Unanswered, int64(j.Min), j.Mean, int64(j.P50), int64(j.P90), int64(j.P95), int64(j.P99), int64(j.P999),
		int64(j.Max),
	}
	return nil
}

// marshal is json.Marshal, but leaves it to the caller's encoder whether ">" is escaped.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// windowTimesJSON are WindowTimes as they are written.
type windowTimesJSON struct {
	Count      int64        `json:"count"`
	Unanswered int64        `json:"unanswered,omitempty"`
	P50        microseconds `json:"p50"`
	P90        microseconds `json:"p90"`
	P99        microseconds `json:"p99"`
	Max        microseconds `json:"max"`
}

// MarshalJSON implements json.Marshaler.
func (t WindowTimes) MarshalJSON() ([]byte, error) {
	return marshal(windowTimesJSON{t.Count, t.Unanswered, microseconds(t.P50), microseconds(t.P90), microseconds(t.P99),
		microseconds(t.Max)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *WindowTimes) UnmarshalJSON(from []byte) error {
	var j windowTimesJSON
	if err := json.Unmarshal(from, &j); err != nil {
		return err
	}
	*t = WindowTimes{j.Count, j.Unanswered, int64(j.P50), int64(j.P90), int64(j.P99), int64(j.Max)}
	return nil
}
