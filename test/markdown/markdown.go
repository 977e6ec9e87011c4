// Package markdown reads the pages of this project, so that tests can compile the manifests, check or run the commands
// and follow the links that the pages print.
//
// A fenced block says what tests do with it by the words after its language:
//
//	```yaml run             a LoadTest that a test runs
//	```console run          commands that a test runs, in the order of the page
//	```yaml save=FILE       a file that the reader stores, for the commands of the page
//
// What a word means is in the test that looks for it. GitHub shows the language only.
package markdown

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Page is a Markdown file.
type Page struct {
	// File is the path below the project's root, with slashes.
	File   string
	Blocks []Block
	// Code are the code spans: what is between backquotes in a paragraph.
	Code  []Span
	Links []Span
	// Anchors are what a link may name after a #.
	Anchors map[string]bool
}

// Block is a fenced block, or an indented one, which has no language.
type Block struct {
	File string
	// Line is that of the first line of the text, from 1.
	Line int
	// Language is the first word after the fence, Marks are the others.
	Language string
	Marks    []string
	Text     string
}

// Marked reports whether the fence has the word.
func (b Block) Marked(word string) bool { return slices.Contains(b.Marks, word) }

// Manifest reports whether the block is a LoadTest, alone or with other objects.
func (b Block) Manifest() bool {
	return b.Language == "yaml" && kindLoadTest.MatchString(b.Text)
}

var kindLoadTest = regexp.MustCompile(`(?m)^kind: LoadTest$`)

// Span is a piece of a line.
type Span struct {
	Line int
	Text string
}

// Pages reads all pages below the project's root, in the order of their names.
func Pages(root string) ([]*Page, error) {
	var pages []*Page
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "testdata", "node_modules"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".md") {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := Parse(filepath.ToSlash(name), string(text))
		if err != nil {
			return err
		}
		pages = append(pages, page)
		return nil
	})
	return pages, err
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`^#{1,6} +(.+?) *#*$`)
	anchor   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
)

// Parse reads a page.
func Parse(file, text string) (*Page, error) {
	p := &Page{File: file, Anchors: map[string]bool{}}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if fence := strings.TrimLeft(line, " "); strings.HasPrefix(fence, "```") {
			indent := line[:len(line)-len(fence)]
			words := strings.Fields(strings.TrimLeft(fence, "`"))
			b := Block{File: file, Line: i + 2}
			if len(words) > 0 {
				b.Language, b.Marks = words[0], words[1:]
			}
			var body strings.Builder
			for i++; ; i++ {
				if i == len(lines) {
					return nil, fmt.Errorf("%s:%d: the block has no end", file, b.Line-1)
				}
				if strings.TrimSpace(lines[i]) == "```" {
					break
				}
				body.WriteString(strings.TrimPrefix(lines[i], indent) + "\n")
			}
			b.Text = body.String()
			p.Blocks = append(p.Blocks, b)
			continue
		}
		if strings.HasPrefix(line, "    ") && (i == 0 || strings.TrimSpace(lines[i-1]) == "") && !continuesList(lines[:i]) {
			b := Block{File: file, Line: i + 1}
			var body strings.Builder
			for ; i < len(lines) && strings.HasPrefix(lines[i], "    "); i++ {
				body.WriteString(lines[i][4:] + "\n")
			}
			i--
			b.Text = body.String()
			p.Blocks = append(p.Blocks, b)
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			p.Code = append(p.Code, Span{i + 1, m[1]})
		}
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "`"), -1) {
			p.Links = append(p.Links, Span{i + 1, m[1]})
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			p.Anchors[m[1]] = true
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			p.addHeading(m[1])
		}
	}
	return p, nil
}

// continuesList reports whether the last line before that is not empty belongs to a list: then an indented line does,
// too.
func continuesList(before []string) bool {
	for _, line := range slices.Backward(before) {
		if trimmed := strings.TrimSpace(line); trimmed != "" {
			return strings.HasPrefix(line, " ") || strings.HasPrefix(trimmed, "- ") || trimmed[0] >= '0' && trimmed[0] <= '9'
		}
	}
	return false
}

// addHeading adds the anchor that GitHub makes of a heading. A second heading of the same text gets "-1".
func (p *Page) addHeading(text string) {
	text = link.ReplaceAllString(text, "]")
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	name := b.String()
	for n := 1; p.Anchors[name]; n++ {
		name = fmt.Sprintf("%s-%d", b.String(), n)
	}
	p.Anchors[name] = true
}
