package observe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// query is a query of a Prometheus server.
type query struct {
	api  promv1.API
	text string
}

func newQuery(c *client, text string) (*query, error) {
	a, err := api.NewClient(api.Config{Address: c.base, Client: &c.http})
	if err != nil {
		return nil, err
	}
	return &query{promv1.NewAPI(a), text}, nil
}

// badQuery is the error of a query that the server cannot execute, now and later.
type badQuery struct{ error }

// read asks for the values at the present time of the server, so that the clocks need not agree.
func (q *query) read(ctx context.Context) (values []value, err error) {
	defer func() {
		if p := recover(); p != nil { // of the client's decoder
			err = fmt.Errorf("the client of Prometheus failed: %v", p)
		}
	}()
	v, _, err := q.api.Query(ctx, q.text, time.Time{}, promv1.WithTimeout(timeout))
	if err != nil {
		return nil, queryError(err)
	}
	return valuesOf(v)
}

// queryError returns the error of a query without the texts of the decoder.
func queryError(err error) error {
	e := (*promv1.Error)(nil)
	switch answered := errors.As(err, &e); {
	case answered && e.Type == promv1.ErrBadData:
		return badQuery{errors.New("the server answered: " + e.Msg)}
	case answered && e.Type != promv1.ErrBadResponse:
		return errors.New("the server answered: " + e.Msg)
	case !answered && (errors.As(err, new(*url.Error)) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, errTooLarge)):
		return err
	}
	return errors.New("the answer is not in the format of Prometheus")
}

func (q *query) forget() {}

// valuesOf returns the values of a result.
func valuesOf(v model.Value) (out []value, err error) {
	switch v := v.(type) {
	case *model.Scalar:
		out = []value{{value: float64(v.Value)}}
	case model.Vector:
		for _, s := range v {
			if s == nil || s.Histogram != nil {
				return nil, errors.New("the result is a native histogram; use histogram_quantile")
			}
			out = append(out, value{idOf(s.Metric), float64(s.Value)})
		}
	default:
		return nil, badQuery{fmt.Errorf("the result is a %s; allowed: a scalar or a vector", typeOf(v))}
	}
	if len(out) == 0 {
		return nil, errors.New("the query has no result")
	}
	return out, nil
}

func typeOf(v model.Value) string {
	if v == nil {
		return "missing value"
	}
	return v.Type().String()
}

// idOf returns what identifies a series. Its labels are sorted.
func idOf(m model.Metric) seriesID {
	var pairs []string
	for name, v := range m {
		if name != model.MetricNameLabel {
			pairs = append(pairs, pair(string(name), string(v)))
		}
	}
	slices.Sort(pairs)
	return seriesID{string(m[model.MetricNameLabel]), strings.Join(pairs, ",")}
}
