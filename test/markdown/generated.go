package markdown

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Generated compares what a page has between the lines <!-- TITLE --> and <!-- end --> with what a test wants there.
// UPDATE=1 writes it.
func Generated(t *testing.T, page, title, want string) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+title+" -->\n", "<!-- end -->\n"
	head, rest, ok := strings.Cut(string(content), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no lines %q and %q", page, begin, end)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run it with UPDATE=1 (-want +got):\n%s", diff)
	}
}

// Table returns a table.
func Table(columns []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(columns)
	b.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}
