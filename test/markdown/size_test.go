package markdown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// most is how many words of prose a page of the docs has at most: those outside of blocks and tables.
const most = 4000

// TestSizeOfPages: each page of the docs answers one question.
func TestSizeOfPages(t *testing.T) {
	for _, p := range docs(t) {
		if n := len(strings.Fields(prose(t, p.File))); n > most {
			t.Errorf("%s has %d words of prose, more than %d", p.File, n, most)
		}
	}
}

// both are pairs of pages whose tables have the same first column for a reason.
var both = map[[2]string]string{
	{"docs/explanation/concepts.md", "docs/reference/loadtest/README.md"}: "what a field is, and its page",
	{"docs/explanation/read-a-report.md", "docs/reference/verdict.md"}:    "what an outcome means, and its rules",
	{"docs/project/accuracy.md", "docs/project/benchmarks.md"}:            "the machine of each measurement",
}

// TestTablesStandOnce: each fact has one page. No two tables on different pages have first columns of which the shorter
// one is, but for a fifth, in the other.
func TestTablesStandOnce(t *testing.T) {
	var all []table
	for _, p := range docs(t) {
		all = append(all, tables(t, p.File)...)
	}
	if len(all) < 100 {
		t.Errorf("the docs have %d tables", len(all))
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			short, long := a, b
			if len(short.first) > len(long.first) {
				short, long = b, a
			}
			common := 0
			for cell := range short.first {
				if long.first[cell] {
					common++
				}
			}
			if a.page != b.page && len(short.first) > 3 && common*5 >= len(short.first)*4 && both[[2]string{a.page, b.page}] == "" {
				t.Errorf("%s has the rows of the table %q of %s: %q", b.page, a.header, a.page, b.header)
			}
		}
	}
}

// docs are the pages of the docs that people write.
func docs(t *testing.T) []*Page {
	t.Helper()
	var out []*Page
	for _, p := range pages(t) {
		if strings.HasPrefix(p.File, "docs/") && p.File != "docs/reference/api.md" {
			out = append(out, p)
		}
	}
	return out
}

// lines are those of a page that are not in a fenced block.
func lines(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	fenced := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return out
}

// prose is the text of a page outside of blocks and tables.
func prose(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines(t, page) {
		if !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// table is a table of a page.
type table struct {
	page, header string
	// first are the cells of the first column that have a letter.
	first map[string]bool
}

// tables returns those of a page.
func tables(t *testing.T, page string) []table {
	t.Helper()
	var out []table
	inside := false
	for _, line := range lines(t, page) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case !inside:
			inside = true
			out = append(out, table{page, line, map[string]bool{}})
		default:
			cell, _, _ := strings.Cut(line[1:], "|")
			if strings.ContainsFunc(cell, unicode.IsLetter) {
				out[len(out)-1].first[strings.TrimSpace(cell)] = true
			}
		}
	}
	return out
}
