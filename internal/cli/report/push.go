package report

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/otlp"
	"github.com/h2surge/h2surge/internal/report/render"
)

// Push sends figures to a receiver of OpenTelemetry metrics: those of a run while it lasts, and those of a report.
type Push struct {
	endpoint string
	receiver *otlp.Receiver // nil: none was given
	// name is the flag or the variable that gave the receiver.
	name string
	// warnings gets why the receiver did not accept the figures of the report; nil: that is an error.
	warnings io.Writer

	run      *otlp.Run // nil: no run was followed
	exporter *otlp.Exporter
	changes  chan string
}

// The specification of the OTLP exporter defines these variables of the environment. Those of metrics take precedence.
const (
	endpointVariable        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	metricsEndpointVariable = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	headersVariable         = "OTEL_EXPORTER_OTLP_HEADERS"
	metricsHeadersVariable  = "OTEL_EXPORTER_OTLP_METRICS_HEADERS"
	exporterVariable        = "OTEL_METRICS_EXPORTER"
	disabledVariable        = "OTEL_SDK_DISABLED"
)

const otlpFlag = "otlp-endpoint"

// SendsReport and SendsRun are what commands send.
const (
	SendsReport = "at the end, send the figures of the report to it"
	SendsRun    = "send the figures of the run to it, every 5 s and at the end"
)

// Register adds the flag to a command that sends this.
func (p *Push) Register(flags *pflag.FlagSet, sends string) {
	flags.StringVar(&p.endpoint, otlpFlag, "",
		"`URL` of a receiver of OpenTelemetry metrics, without /v1/metrics, such as http://collector:4318; "+sends+". "+headersVariable+" has header fields for it")
}

// Given reports whether the flag was given.
func (p *Push) Given() bool { return p.endpoint != "" }

// Check reports a mistake in the flag.
func (p *Push) Check() error {
	if !p.Given() {
		return nil
	}
	return p.to("--"+otlpFlag, p.endpoint, otlp.URLOf(p.endpoint))
}

// CheckEnvironment is Check. Without the flag, it uses the variables of OpenTelemetry. These may be meant for other
// programs, so a mistake in them is a warning, as are figures of the report that the receiver does not accept.
func (p *Push) CheckEnvironment(warnings io.Writer) error {
	if p.Given() {
		return p.Check()
	}
	p.warnings = warnings
	metrics, all := os.Getenv(metricsEndpointVariable), os.Getenv(endpointVariable)
	var err error
	switch {
	case os.Getenv(exporterVariable) == "none" || os.Getenv(disabledVariable) == "true":
	case metrics != "":
		err = p.to(metricsEndpointVariable, metrics, metrics)
	case all != "":
		err = p.to(endpointVariable, all, otlp.URLOf(all))
	}
	if err != nil {
		p.receiver = nil
		_, err = fmt.Fprintf(warnings, "warning: %v; no figures are sent\n", err)
	}
	return err
}

// to sets the receiver. Its name is for messages.
func (p *Push) to(name, given, url string) error {
	if err := otlp.CheckURL(given); err != nil {
		return command.Usagef("%s: %q %v", name, given, err)
	}
	p.name, p.receiver = name, &otlp.Receiver{URL: url, Header: headerOfEnvironment}
	_, err := headerOfEnvironment()
	return err
}

func headerOfEnvironment() (http.Header, error) {
	name := headersVariable
	if os.Getenv(metricsHeadersVariable) != "" {
		name = metricsHeadersVariable
	}
	header, err := otlp.ParseHeader(os.Getenv(name))
	if err != nil {
		return nil, command.Usagef("%s: %v", name, err)
	}
	return header, nil
}

// Follow begins to send the figures of a run, until Stop.
func (p *Push) Follow(plan *rv.Plan, snapshot func() *rv.Snapshot) {
	if p.receiver == nil {
		return
	}
	p.changes = make(chan string, 8)
	p.run = &otlp.Run{Plan: plan, Snapshot: snapshot}
	p.exporter = otlp.Start(p.receiver, p.run, func(err error) {
		text := "the receiver accepts figures again"
		if err != nil {
			text = err.Error() + "; the test continues"
		}
		select {
		case p.changes <- p.name + ": " + text:
		default: // the run has ended
		}
	})
}

// Changes shows each change between figures that the receiver accepts, and those that it does not.
func (p *Push) Changes(show func(string)) {
	for {
		select {
		case text := <-p.changes:
			show(text)
		default:
			return
		}
	}
}

// Stop ends what Follow began. It is called before the engine of the run is closed.
func (p *Push) Stop() {
	if p.exporter != nil {
		p.exporter.Stop()
		p.run.From()
	}
}

// Send sends the figures of a report if there is a receiver. It does not retry, because "h2surge report" can send those
// of a saved report.
func (p *Push) Send(ctx context.Context, r *rv.Report) error {
	if p.receiver == nil {
		return nil
	}
	of := render.OTLPSource{}
	if p.run != nil {
		of.From = p.run.From()
	}
	switch err := p.receiver.Send(ctx, func(w io.Writer) error { return of.Write(w, r) }); {
	case err == nil:
		return nil
	case p.warnings == nil:
		return command.Failf("%s: %v", p.name, err)
	default:
		_, err = fmt.Fprintf(p.warnings, "warning: %s: %v\n", p.name, err)
		return err
	}
}
