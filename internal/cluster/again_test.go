package cluster

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNotCopiedByArgoCD: the action run-again of Argo CD leaves the same labels and annotations out as run --from.
func TestNotCopiedByArgoCD(t *testing.T) {
	raw, err := os.ReadFile("../../config/delivery/argocd/actions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "local notCopied = {")
	list, _, _ = strings.Cut(list, "}")
	var got []string
	for _, m := range regexp.MustCompile(`"(.*?)"`).FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(notCopied, got); diff != "" {
		t.Errorf("prefixes (-run --from +run-again):\n%s", diff)
	}
}
