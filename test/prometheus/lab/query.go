package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"
)

// Series is a series and its values.
type Series struct {
	Metric     map[string]string
	Value      [2]any
	Values     [][2]any
	Histogram  []any
	Histograms []any
}

// Data is true unless all values are NaN.
func (s Series) Data() bool {
	for _, v := range append(s.Values, s.Value) {
		if text, ok := v[1].(string); ok && text != "NaN" {
			return true
		}
	}
	return len(s.Histogram)+len(s.Histograms) > 0
}

func (s *Server) get(path string, args url.Values, into any) error {
	r, err := http.Get(s.url + path + "?" + args.Encode())
	if err != nil {
		return err
	}
	defer r.Body.Close() //nolint:errcheck // it was only read
	var answer struct {
		Error string
		Data  json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("%s %v: %s", path, args, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// Over returns what a query gives from one instant to another, second by second.
func (s *Server) Over(t *testing.T, query string, from, to time.Time) []Series {
	t.Helper()
	var out struct{ Result []Series }
	must(t, s.get("/api/v1/query_range", url.Values{
		"query": {query}, "step": {"1"}, "start": {unix(from)}, "end": {unix(to)},
	}, &out))
	return out.Result
}

func unix(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// All returns all series that a query gives now.
func (s *Server) All(t *testing.T, query string) []Series {
	t.Helper()
	var out struct{ Result []Series }
	must(t, s.get("/api/v1/query", url.Values{"query": {query}}, &out))
	return out.Result
}

// Now returns the one value of a query, false when there is none or more than one.
func (s *Server) Now(t *testing.T, query string) (float64, bool) {
	t.Helper()
	all := s.All(t, query)
	if len(all) != 1 {
		return 0, false
	}
	text, _ := all[0].Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
