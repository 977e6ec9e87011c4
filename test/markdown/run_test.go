package markdown

import "testing"

func TestUnlike(t *testing.T) {
	for name, tc := range map[string]struct {
		printed, got string
		alike        bool
	}{
		"nothing printed":  {"", "a\nb\n", true},
		"other numbers":    {"a 1  2.5ms  b\n", "a 22 b\n", true},
		"no percentiles":   {"a 1ms errors 0%\n", "a no response errors 0%\n", true},
		"another word":     {"a 1\n", "b 1\n", false},
		"more lines":       {"a\n", "a\nb\n", false},
		"fewer lines":      {"a\nb\n", "a\n", false},
		"any lines before": {"...\nb\n", "a\na\nb\n", true},
		"any lines after":  {"a\n...\n", "a\nb\nc\n", true},
		"missing in dots":  {"...\nb\n...\n", "a\nc\n", false},
		"order":            {"...\nb\n...\na\n...\n", "a\nb\n", false},
	} {
		if wrong := Unlike(tc.printed, tc.got); (wrong == "") != tc.alike {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// TestPage: files, statuses and a command in the background, in the order of the page.
func TestPage(t *testing.T) {
	page, err := Parse("p.md", "```yaml save=a.yaml\na: 1\n```\n"+
		"```console run\n$ cat a.yaml\na: 1\n$ false\n$ echo $?\n1\n"+
		"$ { read -r line < <(echo ready); echo $line; exec sleep 600; } &\nready\n$ kill %1 && wait\n...\n$ x=2\n$ echo \"$x of $x\"\n3 of 4\n```\n"+
		"```console\n$ exit 1\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	if n := NewShell(t, t.TempDir()).Page(page); n != 7 {
		t.Errorf("%d commands, want 7", n)
	}
}

// TestBusy: a command that a busy machine disturbed runs again.
func TestBusy(t *testing.T) {
	page, err := Parse("p.md", "```console run\n$ echo x >> n; test $(wc -l < n) = 2 && echo fine || ! echo busy\nfine\n$ echo $?\n0\n$ ! echo busy\nfine\n$ echo $?\n0\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	sh := NewShell(t, t.TempDir())
	sh.Busy = func(out string) bool { return out == "busy\n" }
	if n := sh.Page(page); n != 4 {
		t.Errorf("%d commands, want 4", n)
	}
}
