// Package otlp sends the figures of a run to a receiver of OpenTelemetry metrics: OTLP over HTTP, in JSON. It does so
// while the run lasts, and at its end. internal/report/render writes the requests.
//
// OpenTelemetry's own exporter is not used. It makes the programs 4 MB larger and their start a millisecond longer,
// because its generated types register themselves, and it does not write JSON, which is an output format of reports.
package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/h2surge/h2surge/internal/roots"
)

// Receiver is where figures go.
type Receiver struct {
	// URL is the complete URL, which ends with MetricsPath in most cases.
	URL string
	// Header returns the header fields of a request, such as a token; nil: there are none. It is called for each request,
	// so that a token can change.
	Header func() (http.Header, error)
	// Transport is for requests; nil: that of net/http.
	Transport http.RoundTripper
}

// MetricsPath is the path of metrics below an endpoint.
const MetricsPath = "/v1/metrics"

const (
	// timeout bounds a request.
	timeout = 10 * time.Second
	// maxAnswer bounds the part of an answer that is read.
	maxAnswer = 64 << 10
)

// CheckURL reports a URL that figures cannot be sent to. The error does not have the URL, which can have a secret.
func CheckURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("is not a URL that starts with http:// or https://")
	}
	return nil
}

// URLOf returns the URL of metrics of an endpoint.
func URLOf(endpoint string) string { return strings.TrimSuffix(endpoint, "/") + MetricsPath }

// ParseHeader returns the header fields of a text in the form of OTEL_EXPORTER_OTLP_HEADERS: NAME=VALUE,NAME=VALUE. The
// error has no value, which may be a secret.
func ParseHeader(text string) (http.Header, error) {
	out := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("must be NAME=VALUE,NAME=VALUE with percent-encoded values")
		}
		out.Add(name, value)
	}
	return out, nil
}

// Send sends what write writes. It does not retry: figures are cumulative, so the next request has those of this one.
func (r *Receiver) Send(ctx context.Context, write func(io.Writer) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := r.request(ctx, write)
	if err != nil {
		return err
	}
	if request.URL.Scheme == "https" {
		roots.Use()
	}
	// A redirect would take the header fields elsewhere.
	client := &http.Client{Transport: r.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	response, err := client.Do(request)
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err // the URL can have a secret
	}
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	return rejection(response.StatusCode, body)
}

func (r *Receiver) request(ctx context.Context, write func(io.Writer) error) (*http.Request, error) {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if err := write(z); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, &body)
	if err != nil {
		return nil, err
	}
	if r.Header != nil {
		if request.Header, err = r.Header(); err != nil {
			return nil, err
		}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Content-Encoding", "gzip")
	return request, nil
}

// rejection returns why the receiver did not store all figures, or nil. A partial success without rejected points is a
// success, whose message is a warning.
func rejection(status int, body []byte) error {
	var answer struct {
		Message        string `json:"message"`
		PartialSuccess struct {
			RejectedDataPoints json.Number `json:"rejectedDataPoints"` // int64 is a string in most JSON of Protobuf
			ErrorMessage       string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	_ = json.Unmarshal(body, &answer) // the body of some receivers is text
	switch {
	case status/100 != 2 && answer.Message != "":
		return fmt.Errorf("the receiver answered with status %d: %.200s", status, answer.Message)
	case status/100 != 2:
		return fmt.Errorf("the receiver answered with status %d: %.200s", status, body)
	}
	partial := &answer.PartialSuccess
	if n, _ := partial.RejectedDataPoints.Int64(); n > 0 {
		return fmt.Errorf("the receiver refused some figures: %.200s",
			cmp.Or(partial.ErrorMessage, partial.RejectedDataPoints.String()+" data points"))
	}
	return nil
}
