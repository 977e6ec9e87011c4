package markdown

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const securityPage = "docs/operate/security.md"

// rowsOf returns the cells of the rows of the table in a section, without its head.
func rowsOf(t *testing.T, section string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, securityPage))
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %s", securityPage, section)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	_, part, _ = strings.Cut(part, "|---|")
	for line := range strings.Lines(part) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// TestClaims: each claim of the threat model names tests that exist, at the level where they run.
func TestClaims(t *testing.T) {
	known, rows := tests(t), rowsOf(t, "Claims")
	if len(rows) < 10 {
		t.Errorf("%s has %d claims, want 10 at least", securityPage, len(rows))
	}
	for _, cells := range rows {
		named := proof.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 2 || len(named) == 0 {
			t.Errorf("%s: the row does not have a claim and a test as `TestName` (level): %v", securityPage, cells)
		}
		for _, m := range named {
			if _, exists := known[m[3]+" "+m[1]]; !exists {
				t.Errorf("%s: there is no test %s at level %s", securityPage, m[1], m[3])
			}
		}
	}
}

// TestPermissions: the table of the operator's permissions has each verb of its roles once, each with a reason.
func TestPermissions(t *testing.T) {
	var documented []string
	for _, cells := range rowsOf(t, "Permissions of the operator") {
		if len(cells) != 5 || len(cells[4]) < 10 {
			t.Errorf("%s: the row has no reason: %v", securityPage, cells)
			continue
		}
		group := strings.Replace(cells[1], "core", "", 1)
		for verb := range strings.SplitSeq(cells[3], ", ") {
			documented = append(documented, strings.Join([]string{cells[0], group, strings.ReplaceAll(cells[2], "`", ""), verb}, " "))
		}
	}
	slices.Sort(documented)
	if diff := cmp.Diff(permissions(t), documented); diff != "" {
		t.Errorf("config/rbac/role.yaml and %s differ (-rules +table):\n%s", securityPage, diff)
	}
}

// permissions returns the kind, the API group, the resource, the names and the verb of each permission, sorted.
func permissions(t *testing.T) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						on := strings.Join(append([]string{resource}, rule.ResourceNames...), " ")
						out = append(out, strings.Join([]string{role.Kind, group, on, verb}, " "))
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
