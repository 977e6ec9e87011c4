package runner

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
)

// tlsConfigs makes the configurations of dial.ClientConfigs. SSLKEYLOGFILE names a file that gets the session keys, as
// with browsers and curl.
func tlsConfigs(plan *rv.Plan) ([][]*tls.Config, error) {
	var keyLog io.Writer
	secure := slices.ContainsFunc(plan.Targets, func(t rv.Target) bool { return t.TLS != nil })
	if path := os.Getenv("SSLKEYLOGFILE"); path != "" && secure {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("SSLKEYLOGFILE: %w", err)
		}
		keyLog = f // open until the process ends
	}
	out, errs := dial.ClientConfigs(plan, keyLog)
	if len(errs) > 0 {
		return nil, chain.Errors(errs)
	}
	return out, nil
}
