package convert

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/reflection"
	"github.com/h2surge/h2surge/internal/roots"
)

// protoOptions are the flags of "convert proto".
type protoOptions struct {
	services []string
	headers  []string
	caCert   string
	insecure bool
	raw      bool
}

// proto asks a server for its proto files.
func (o *convertOptions) proto() *cobra.Command {
	p := &protoOptions{}
	cmd := &cobra.Command{
		Use:   "proto URL",
		Short: "Write the proto files of a gRPC server into a ConfigMap",
		Args:  command.ExactArgs("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := p.ask(cmd.Context(), strings.TrimSuffix(args[0], "/"))
			if err != nil {
				return command.Usagef("%s: %s", mask.Line(args[0]), mask.Line(err.Error()))
			}
			if p.raw {
				return o.finish(cmd, set, nil, nil)
			}
			return o.finishConfigMap(cmd, set)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&p.services, "service", nil, "full `name` of a service (default all); may be repeated")
	flags.StringArrayVarP(&p.headers, "header", "H", nil, "metadata `field` to send, as 'name: value'; may be repeated")
	flags.StringVar(&p.caCert, "cacert", "", "`file` with the certificate authorities of the server, in PEM")
	flags.BoolVar(&p.insecure, "insecure", false, "accept any certificate of the server")
	flags.BoolVar(&p.raw, "descriptor-set", false, "write the set of descriptors, not a ConfigMap with it")
	return cmd
}

// maxConfigMap is the limit of Kubernetes, in bytes.
const maxConfigMap = 1 << 20

// finishConfigMap writes the manifest of a ConfigMap with a set of descriptors.
func (o *convertOptions) finishConfigMap(cmd *cobra.Command, set []byte) error {
	if len(set) > maxConfigMap {
		return command.Usagef("the proto files take %d bytes, and a ConfigMap has at most %d; "+
			"name some with --service, or write a file with --descriptor-set", len(set), maxConfigMap)
	}
	out := fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %q\nbinaryData:\n  services.binpb: %s\n",
		o.named("protos", nil).Name, base64.StdEncoding.EncodeToString(set))
	var warnings []string
	if len(out) > convert.MaxApplied {
		warnings = []string{"ConfigMap: " + convert.TooLargeToApply}
	}
	return o.finish(cmd, out, warnings, nil)
}

// askWithin bounds the questions to the server.
const askWithin = 30 * time.Second

// ask returns the set of descriptors of the services.
func (p *protoOptions) ask(ctx context.Context, url string) ([]byte, error) {
	transport, err := p.transport(url)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for _, field := range p.headers {
		name, value, ok := strings.Cut(field, ":")
		if !ok || name == "" {
			return nil, errors.New("--header: must be of the form 'name: value'")
		}
		header.Add(name, strings.Trim(value, " \t"))
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	server := &reflection.Server{Transport: transport, Base: url, Header: header}
	services := slices.Clone(p.services)
	if len(services) == 0 {
		if services, err = server.Services(ctx); err != nil {
			return nil, err
		}
	}
	return server.Files(ctx, services)
}

func (p *protoOptions) transport(url string) (*http.Transport, error) {
	out := &http.Transport{Protocols: new(http.Protocols)}
	switch scheme, _, _ := strings.Cut(url, "://"); scheme {
	case "http":
		out.Protocols.SetUnencryptedHTTP2(true)
	case "https":
		roots.Use()
		out.Protocols.SetHTTP2(true)
		out.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: p.insecure} //nolint:gosec // the user asked for it
	default:
		return nil, fmt.Errorf("must begin with http:// or https://")
	}
	if p.caCert == "" || out.TLSClientConfig == nil {
		return out, nil
	}
	pem, err := os.ReadFile(p.caCert)
	if err != nil {
		return nil, fmt.Errorf("--cacert: %w", err)
	}
	out.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !out.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--cacert: %s has no certificate in PEM", p.caCert)
	}
	return out, nil
}
