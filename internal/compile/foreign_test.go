package compile

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// firstToWrite matches the first of what a message says to write.
var firstToWrite = regexp.MustCompile(`^\w+(: (\{.*?\}|\w+))?`)

// TestWordsOfOtherToolsInDocs: the page has each word of the tables, in a row with what the message says to write.
func TestWordsOfOtherToolsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/words-of-other-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			rows = append(rows, cells[1:])
		}
	}
	want := map[[2]string]bool{}
	for word, f := range foreignFields {
		write := firstToWrite.FindString(f.with(nil))
		want[[2]string{word, write}] = true
	}
	for word, metrics := range foreignMetrics {
		want[[2]string{word, metrics[0]}] = true
	}
	for pair := range want {
		found := false
		for _, cells := range rows {
			found = found || strings.Contains(cells[0], "`"+pair[0]+"`") && strings.Contains(cells[2], "`"+pair[1]+"`")
		}
		if !found {
			t.Errorf("docs/explanation/words-of-other-tools.md has no row for %s with %s", pair[0], pair[1])
		}
	}
}
