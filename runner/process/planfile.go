package process

import (
	"bytes"
	"fmt"
	"io"
	"os"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
)

// gzipMagic begins every gzip file (RFC 1952 2.3.1), and no JSON.
var gzipMagic = []byte{0x1f, 0x8b}

// readPlan reads a checked plan, compressed or not, whatever the file is called. With a digest, it must be the
// compressed plan that has it.
func readPlan(name, digest string) (*rv.Plan, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(f, plan.MaxCanonical+1))
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, gzipMagic) || digest != "" {
		return plan.Decode(b, digest)
	}
	if len(b) > plan.MaxCanonical {
		return nil, fmt.Errorf("the plan has more than %d bytes", plan.MaxCanonical)
	}
	return plan.Parse(b)
}
