package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// AddFilename adds -f. Commands take the same names as arguments, too.
func AddFilename(flags *pflag.FlagSet, names *[]string) {
	flags.StringArrayVarP(names, "filename", "f", nil,
		"`file` or directory with the manifest, YAML or JSON; - is standard input; may be repeated")
}

// addTargets adds the flags of what the targets of a manifest are.
func addTargets(flags *pflag.FlagSet, s *source, demo *bool) {
	flags.StringArrayVar(&s.overrides, "target-url", nil,
		"`[NAME=]URL` of the target NAME, or of all targets, instead of the manifest's; may be repeated")
	flags.BoolVar(&s.reflection, "reflection", false,
		"ask the targets of gRPC calls that have no protoFrom for their proto files")
	flags.BoolVar(demo, "demo", false, "start h2surge's own target and send the load to it")
}

// writeWarnings writes one line for each warning.
func writeWarnings(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning: "+mask.Line(warning))
	}
}

// manifestText is a manifest of one or more files: their content, one after another.
type manifestText struct {
	content []byte
	files   []manifestFile
}

// manifestFile is one file and the line of the text that it begins with.
type manifestFile struct {
	name    string
	content []byte
	first   int
}

// place returns what stands before a message about a line: the file, and the line in that file. Line 0 means that the
// line is not known.
func (t *manifestText) place(line int) string { return compile.Place(t.at(line)) }

// at returns the file of a line, and the line in that file.
func (t *manifestText) at(line int) (file string, inFile int) {
	i := sort.Search(len(t.files), func(i int) bool { return t.files[i].first > line }) - 1
	if line == 0 || i < 0 {
		return t.name(), line
	}
	return command.ShownName(t.files[i].name), line - t.files[i].first + 1
}

// name is what messages about the whole manifest call it: its only file, or all of them.
func (t *manifestText) name() string {
	names := make([]string, 0, len(t.files))
	for _, f := range t.files {
		names = append(names, command.ShownName(f.name))
	}
	return strings.Join(names, ", ")
}

// first is the name of the first file.
func (t *manifestText) first() string { return command.ShownName(t.files[0].name) }

// errorLines returns the errors to print, each after its file and line, in the order of the lines.
func (t *manifestText) errorLines(at *compile.Positions, errs field.ErrorList) []string {
	errs = slices.SortedStableFunc(slices.Values(errs),
		func(a, b *field.Error) int { return cmp.Compare(at.OfError(a), at.OfError(b)) })
	lines := compile.ErrorLines(errs)
	for i := range lines {
		lines[i] = t.place(at.OfError(errs[i])) + lines[i]
	}
	return bounded(lines)
}

// readManifest reads the files of exactly one LoadTest.
func readManifest(names []string, stdin io.Reader) (*manifestText, error) {
	texts, unreadable := readManifests(names, stdin)
	if len(unreadable) > 0 {
		return nil, command.Exit(verdict.ExitUsage, unreadable...)
	}
	if len(texts) > 1 {
		tests := make([]string, 0, len(texts))
		for _, t := range texts {
			tests = append(tests, command.ShownName(t.files[0].name))
		}
		const most = 5
		if len(tests) > most {
			tests = append(tests[:most], "...")
		}
		return nil, command.Usagef("-f: %d files have more than ConfigMaps and Secrets (%s); name one of them",
			len(texts), strings.Join(tests, ", "))
	}
	return texts[0], nil
}

// readManifests reads files and directories. Files with nothing but ConfigMaps and Secrets belong to each of the
// other files, which are manifests. The second result has a line for each file that cannot be read.
func readManifests(names []string, stdin io.Reader) (texts []*manifestText, unreadable []string) {
	var tests, parts []manifestFile
	for _, name := range names {
		files, err := expand(name)
		if err != nil {
			unreadable = append(unreadable, err.Error())
		}
		for _, name := range files {
			content, err := readManifestFile(name, stdin)
			if err != nil {
				unreadable = append(unreadable, command.CannotRead(name, err).Error())
				continue
			}
			f := manifestFile{name: name, content: content}
			if onlyObjects(content) {
				parts = append(parts, f)
			} else {
				tests = append(tests, f)
			}
		}
	}
	if len(tests) == 0 && len(parts) > 0 {
		return []*manifestText{joined(parts)}, unreadable
	}
	for _, f := range tests {
		texts = append(texts, joined(append([]manifestFile{f}, parts...)))
	}
	return texts, unreadable
}

// expand returns the manifests of a directory in the order of their names, or the name itself if it is not a directory.
func expand(name string) ([]string, error) {
	info, err := os.Stat(name)
	if name == command.StdinName || err != nil || !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, command.CannotRead(name, err)
	}
	var files []string
	for _, e := range entries {
		extension := filepath.Ext(e.Name())
		kustomization := strings.TrimSuffix(e.Name(), extension) == "kustomization"
		if !e.IsDir() && !kustomization && slices.Contains([]string{".yaml", ".yml", ".json"}, extension) {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, command.Usagef("%s: the directory has no .yaml, .yml or .json files", name)
	}
	return files, nil
}

// readManifestFile reads one byte more than a manifest may have, so that compile.Load reports the excess.
func readManifestFile(name string, stdin io.Reader) ([]byte, error) {
	if name == command.StdinName {
		return io.ReadAll(io.LimitReader(stdin, compile.MaxManifest+1))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, compile.MaxManifest+1))
}

// onlyObjects reports whether each object of a file, also of a List, is a ConfigMap or a Secret. A file that cannot be
// parsed is not such a file: it is checked as a manifest, which reports the mistake.
func onlyObjects(content []byte) bool {
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var o *struct { // nil for a document that is empty or has only comments
			metav1.TypeMeta
			Items []metav1.TypeMeta `json:"items"`
		}
		err := documents.Decode(&o)
		switch {
		case err != nil:
			return errors.Is(err, io.EOF)
		case o == nil:
			continue
		case o.Kind != "List":
			o.Items = []metav1.TypeMeta{o.TypeMeta}
		}
		if slices.ContainsFunc(o.Items, otherObject) {
			return false
		}
	}
}

// otherObject reports whether an object is neither a ConfigMap nor a Secret, such as a LoadTest without its kind.
func otherObject(o metav1.TypeMeta) bool {
	return o.Kind != string(compile.ConfigMap) && o.Kind != string(compile.Secret)
}

// joined is one text of several files.
func joined(files []manifestFile) *manifestText {
	t := &manifestText{files: slices.Clone(files)}
	if len(files) == 1 {
		t.content, t.files[0].first = files[0].content, 1
		return t
	}
	line := 1
	for i, f := range files {
		if i > 0 {
			t.content = append(t.content, "---\n"...)
			line++
		}
		content := f.content
		if json.Valid(content) { // YAML has no tabs between tokens
			content = bytes.ReplaceAll(content, []byte("\t"), []byte(" "))
		}
		if !bytes.HasSuffix(content, []byte("\n")) {
			content = append(slices.Clip(content), '\n')
		}
		t.files[i].first = line
		t.content = append(t.content, content...)
		line += bytes.Count(content, []byte("\n"))
	}
	return t
}

// writeLoadTest writes a manifest of one LoadTest.
func writeLoadTest(w io.Writer, format string, lt *v1alpha1.LoadTest) error {
	return command.WriteDocument(w, format, struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		// Spec is that of the LoadTest.
		Spec *v1alpha1.LoadTestSpec `json:"spec"`
	}{v1alpha1.GroupVersion.String(), "LoadTest", map[string]string{"name": lt.Name}, &lt.Spec})
}
