package runner

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
)

// tlsConfigs makes the configuration of each target that has one. SSLKEYLOGFILE names a file that
// gets the session keys, as with browsers and curl.
func tlsConfigs(plan *rv.Plan) ([]*tls.Config, error) {
	out := make([]*tls.Config, len(plan.Targets))
	var keyLog io.Writer
	for i := range plan.Targets {
		t := plan.Targets[i].TLS
		if t == nil {
			continue
		}
		if path := os.Getenv("SSLKEYLOGFILE"); path != "" && keyLog == nil {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, fmt.Errorf("SSLKEYLOGFILE: %w", err)
			}
			keyLog = f // open until the process ends
		}
		var err error
		if out[i], err = dial.ClientConfig(t, keyLog); err != nil {
			return nil, fmt.Errorf("targets[%d].tls.%w", i, err)
		}
	}
	return out, nil
}
