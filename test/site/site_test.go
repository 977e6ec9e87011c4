//go:build site

package site

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// loading are the elements whose contents a browser fetches with the page.
	loading  = regexp.MustCompile(`<(?:script|img|iframe|source|audio|video|embed|object|link)\b[^>]*>`)
	external = regexp.MustCompile(`(?:src|srcset|data|href)="?(?:https?:)?//`)
	// named is a link element that only names an address.
	named  = regexp.MustCompile(`rel="?(?:canonical|alternate|next|prev)\b`)
	styled = regexp.MustCompile(`(?:url\(|@import\s*)["']?(?:https?:)?//`)
	// unread is the syntax of Markdown in the text of a page.
	unread = regexp.MustCompile("(?m)^\\s*(?:```|\\*\\*\\w|\\|.*\\|$)|\\]\\([^)]*\\)")
	code   = regexp.MustCompile(`(?s)<(pre|code|script|style)\b.*?</(?:pre|code|script|style)>|<[^>]+>`)
)

// TestPages: the pages load nothing from elsewhere, so that they work without a network, and have no Markdown that the site
// could not read.
func TestPages(t *testing.T) {
	pages := 0
	err := filepath.WalkDir("../../dist/site", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch text := string(raw); filepath.Ext(path) {
		case ".html":
			pages++
			for _, element := range loading.FindAllString(text, -1) {
				if external.MatchString(element) && !named.MatchString(element) {
					t.Errorf("%s loads %s", path, element)
				}
			}
			_, article, _ := strings.Cut(text, "<article")
			article, _, _ = strings.Cut(article, "</article>")
			if found := unread.FindString(code.ReplaceAllString("<"+article, "")); found != "" {
				t.Errorf("%s has Markdown: %q", path, found)
			}
		case ".css":
			if found := styled.FindString(text); found != "" {
				t.Errorf("%s loads %s", path, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 30 {
		t.Errorf("%d pages", pages)
	}
}
