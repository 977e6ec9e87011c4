package markdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const text = "# The `h2surge` page: A & B\n" +
		"See [one](a.md#b), `run -o html` and [two](https://example.com).\n" +
		"`[no](link)`\n" +
		"```yaml run other\na: 1\n```\n" +
		"- item\n\n      of the item\n\n" +
		"Text.\n\n    h2surge lint a.yaml\n    b\n\n" +
		"## Same\n## Same\n" +
		"  ```console\n  $ x\n  ```\n"
	got, err := Parse("p.md", text)
	if err != nil {
		t.Fatal(err)
	}
	want := &Page{
		File: "p.md",
		Blocks: []Block{
			{File: "p.md", Line: 5, Language: "yaml", Marks: []string{"run", "other"}, Text: "a: 1\n"},
			{File: "p.md", Line: 13, Text: "h2surge lint a.yaml\nb\n"},
			{File: "p.md", Line: 19, Language: "console", Marks: []string{}, Text: "$ x\n"},
		},
		Code:    []Span{{1, "h2surge"}, {2, "run -o html"}, {3, "[no](link)"}},
		Links:   []Span{{2, "a.md#b"}, {2, "https://example.com"}},
		Anchors: map[string]bool{"the-h2surge-page-a--b": true, "same": true, "same-1": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Parse("p.md", "```\nx\n"); err == nil {
		t.Error("a block without an end is no error")
	}
}

func TestCommands(t *testing.T) {
	b := Block{Line: 10, Text: "$ one \\\n    --two\nprinted\nmore\n$ three\n"}
	want := []Command{{10, "one \\\n    --two", "printed\nmore\n"}, {14, "three", ""}}
	if diff := cmp.Diff(want, b.Commands()); diff != "" {
		t.Error(diff)
	}
}

func TestPrograms(t *testing.T) {
	for text, want := range map[string][][]string{
		"make demo":                          {{"make", "demo"}},
		"make demo  # 30 s; really":          {{"make", "demo"}},
		"a -f - -o json < in.yaml > out":     {{"a", "-f", "-", "-o", "json"}},
		"a 'b c'\"d\" | jq .x && b; c &":     {{"a", "b cd"}, {"jq", ".x"}, {"b"}, {"c"}},
		". <(hack/cluster/env)":              {{"."}, {"hack/cluster/env"}},
		"X=1 Y=a,b sudo a --x=1 2>/dev/null": {{"a", "--x=1"}},
		"kill -HUP $(pgrep a | head -1) b":   {{"kill", "-HUP", "$(pgrep a | head -1)", "b"}},
		"a \\\n  --b":                        {{"a", "--b"}},
		"(cat a; echo ---) | a -f -":         {{"cat", "a"}, {"echo", "---"}, {"a", "-f", "-"}},
		"make image IMG=a:b":                 {{"make", "image", "IMG=a:b"}},
		"a 'open":                            {{"a", "open"}},
	} {
		if diff := cmp.Diff(want, Programs(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
