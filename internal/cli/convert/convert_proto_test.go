package convert

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestLargeProtos: a warning says how to apply a ConfigMap that is too large for "kubectl apply".
func TestLargeProtos(t *testing.T) {
	for size, want := range map[int]string{
		1000:      "",
		300 << 10: "ConfigMap: is too large for kubectl apply; use kubectl apply --server-side, or kubectl h2surge run\n",
	} {
		var out, errs strings.Builder
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		if err := new(convertOptions).finishConfigMap(cmd, make([]byte, size)); err != nil || errs.String() != want || !strings.Contains(out.String(), "kind: ConfigMap") {
			t.Errorf("%d octets: %v, %q, want %q", size, err, errs.String(), want)
		}
	}
}
