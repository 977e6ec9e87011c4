package hack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUndeploy: the LoadTests of the cluster are gone, with their Jobs, before the CRDs are deleted. After that, the
// garbage collector would not know the owners of these Jobs.
func TestUndeploy(t *testing.T) {
	deleted := []string{
		"delete loadtestschedules.h2surge.io --all --all-namespaces --cascade=foreground",
		"delete loadtests.h2surge.io --all --all-namespaces --cascade=foreground",
	}
	for name, tt := range map[string]struct {
		target, crds string
		want         []string
	}{
		"undeploy":         {"undeploy", "all", append(deleted[:2:2], "delete --ignore-not-found -k config/default")},
		"uninstall":        {"uninstall", "all", append(deleted[:2:2], "delete --ignore-not-found -k config/crd")},
		"without CRDs":     {"undeploy", "none", []string{"delete --ignore-not-found -k config/default"}},
		"without a server": {"undeploy", "unknown", nil},
	} {
		t.Run(name, func(t *testing.T) {
			kubectl, log := filepath.Join(t.TempDir(), "kubectl"), filepath.Join(t.TempDir(), "log")
			script := `#!/bin/sh
[ "$1" = get ] || { echo "$@" >>` + log + `; exit; }
case ` + tt.crds + ` in all) echo "customresourcedefinition/$3";; unknown) exit 1;; esac
`
			if err := os.WriteFile(kubectl, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("make", "-s", "-C", "..", tt.target, "KUBECTL="+kubectl).CombinedOutput()
			if failed := tt.want == nil; (err != nil) != failed {
				t.Errorf("%v\n%s", err, out)
			}
			text, _ := os.ReadFile(log) // it does not exist if kubectl deleted nothing
			var got []string
			if len(text) > 0 {
				got = strings.Split(strings.TrimSpace(string(text)), "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
