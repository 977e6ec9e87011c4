package curl

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/converttest"
	"github.com/h2surge/h2surge/test/golden"
)

// commandLine converts lines of curl.
type commandLine struct {
	files map[string]string // that flags may name, with their contents
}

func (c commandLine) read(name string) ([]byte, error) {
	if content, has := c.files[name]; has {
		return []byte(content), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("no such file")}
}

// goldens compares each line, by the name of its LoadTest and golden file, with that file. Each
// warning must stand there as a comment.
func (c commandLine) goldens(t *testing.T, lines map[string]string) {
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			out, warnings := c.of(words, name).Convert(t, line)
			golden.Compare(t, name+".yaml", "# "+line+"\n"+out)
			for _, w := range warnings {
				if !strings.Contains(out, "# "+w) && !strings.Contains(out, "#   "+w) {
					t.Errorf("no comment says: %s", w)
				}
			}
		})
	}
}

// words splits a line as a shell does, of whose quotes only ' is known.
func words(line string) (out []string) {
	for i, part := range strings.Split(line, "'") {
		if quoted := i%2 == 1; quoted {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// mistakes compares what is said of each line.
func (c commandLine) mistakes(t *testing.T, mistakes []converttest.Mistake) {
	t.Helper()
	c.of(words, "").Mistakes(t, mistakes)
}

// fuzz tries any line. Words are empty where two spaces stand together.
func (c commandLine) fuzz(f *testing.F, seeds ...string) {
	c.of(func(line string) []string { return strings.Split(line, " ") }, "").Fuzz(f, seeds...)
}

// of is the conversion of a line as split takes it apart.
func (c commandLine) of(split func(string) []string, name string) converttest.Conversion {
	return func(line string) ([]byte, []string, error) {
		return Convert(split(line), convert.Options{Name: name, Read: c.read})
	}
}

// documented finds each flag in docs/reference/convert.md.
func (c commandLine) documented(t *testing.T) {
	t.Helper()
	_, section, found := strings.Cut(converttest.Docs(t), "\n## curl\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, f := range known {
		long, short := f.long != "" && strings.Contains(section, "`--"+f.long+"`"), f.short != 0 && strings.Contains(section, "`-"+string(f.short)+"`")
		if !found || !long && !short {
			t.Errorf("--%s, -%c is not in docs/reference/convert.md", f.long, f.short)
		}
	}
}
