package converttest

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
)

// CommandLine is a conversion of command lines.
type CommandLine struct {
	// Tool is its name, the heading of its section in docs/convert.md.
	Tool    string
	Known   []convert.Flag
	Convert func(args []string, o convert.Options) (out []byte, warnings []string, err error)
	// Files are those that flags may name, with their contents.
	Files map[string]string
}

func (c CommandLine) read(name string) ([]byte, error) {
	if content, has := c.Files[name]; has {
		return []byte(content), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("no such file")}
}

// Goldens compares each line, by the name of its LoadTest and golden file, with that file. Each
// warning must stand there as a comment.
func (c CommandLine) Goldens(t *testing.T, lines map[string]string) {
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			out, warnings := c.of(words, name).Convert(t, line)
			Golden(t, name+".yaml", "# "+line+"\n"+out)
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

// Mistakes compares what is said of each line.
func (c CommandLine) Mistakes(t *testing.T, mistakes []Mistake) {
	t.Helper()
	c.of(words, "").Mistakes(t, mistakes)
}

// Fuzz tries any line. Words are empty where two spaces stand together.
func (c CommandLine) Fuzz(f *testing.F, seeds ...string) {
	c.of(func(line string) []string { return strings.Split(line, " ") }, "").Fuzz(f, seeds...)
}

// of is the conversion of a line as split takes it apart.
func (c CommandLine) of(split func(string) []string, name string) Conversion {
	return func(line string) ([]byte, []string, error) {
		return c.Convert(split(line), convert.Options{Name: name, Read: c.read})
	}
}

// Documented finds each flag in docs/convert.md.
func (c CommandLine) Documented(t *testing.T) {
	t.Helper()
	_, section, found := strings.Cut(Docs(t), "\n## "+c.Tool+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, f := range c.Known {
		long, short := f.Long != "" && strings.Contains(section, "`--"+f.Long+"`"), f.Short != 0 && strings.Contains(section, "`-"+string(f.Short)+"`")
		if !found || !long && !short {
			t.Errorf("--%s, -%c is not in docs/convert.md", f.Long, f.Short)
		}
	}
}
