package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/report/render"
	"github.com/h2surge/h2surge/internal/roots"
)

// Push sends the figures of a report to a receiver of OpenTelemetry metrics: OTLP over HTTP, in JSON.
type Push struct{ endpoint string }

// pushTimeout bounds the request.
const pushTimeout = 10 * time.Second

// headersVariable has header fields of the request, such as a token: NAME=VALUE,NAME=VALUE. The specification of the
// OTLP exporter defines it.
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"

// Register adds the flag to a command.
func (p *Push) Register(flags *pflag.FlagSet) {
	flags.StringVar(&p.endpoint, "otlp-endpoint", "",
		"`URL` of a receiver of OpenTelemetry metrics, without /v1/metrics, such as http://collector:4318; at the end, send the figures of the report to it. "+headersVariable+" has header fields for it")
}

// Given reports whether the flag was given.
func (p *Push) Given() bool { return p.endpoint != "" }

// Check reports a mistake in the flag.
func (p *Push) Check() error {
	if !p.Given() {
		return nil
	}
	u, err := url.Parse(p.endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return command.Usagef("--otlp-endpoint: %q is not a URL that starts with http:// or https://", p.endpoint)
	}
	_, err = pushHeaders()
	return err
}

// pushHeaders returns the fields of headersVariable. The error has no value, which may be a secret.
func pushHeaders() (http.Header, error) {
	out := http.Header{}
	for pair := range strings.SplitSeq(os.Getenv(headersVariable), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, command.Usagef("%s: must be NAME=VALUE,NAME=VALUE with percent-encoded values", headersVariable)
		}
		out.Add(name, text)
	}
	return out, nil
}

// Send pushes the report if the flag was given. It does not retry, because "h2surge report" can push a saved report.
func (p *Push) Send(ctx context.Context, r *rv.Report) error {
	if !p.Given() {
		return nil
	}
	if err := p.send(ctx, r); err != nil {
		return command.Failf("--otlp-endpoint: %v", err)
	}
	return nil
}

func (p *Push) send(ctx context.Context, r *rv.Report) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	request, err := p.request(ctx, r)
	if err != nil {
		return err
	}
	if request.URL.Scheme == "https" {
		roots.Use()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return err
	}
	return rejection(response.StatusCode, body)
}

func (p *Push) request(ctx context.Context, r *rv.Report) (*http.Request, error) {
	header, err := pushHeaders()
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if err := render.OTLP(z, r); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(p.endpoint, "/")+"/v1/metrics",
		&body)
	if err != nil {
		return nil, err
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Content-Encoding", "gzip")
	return request, nil
}

// rejection returns why the receiver did not store all figures, or nil.
func rejection(status int, body []byte) error {
	var answer struct {
		Message        string `json:"message"`
		PartialSuccess struct {
			ErrorMessage string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	_ = json.Unmarshal(body, &answer) // the body of some receivers is text
	switch {
	case status/100 != 2 && answer.Message != "":
		return fmt.Errorf("the receiver answered with status %d: %.200s", status, answer.Message)
	case status/100 != 2:
		return fmt.Errorf("the receiver answered with status %d: %.200s", status, body)
	case answer.PartialSuccess.ErrorMessage != "":
		return fmt.Errorf("the receiver refused some figures: %.200s", answer.PartialSuccess.ErrorMessage)
	}
	return nil
}
