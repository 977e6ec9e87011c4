package report

import (
	"cmp"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
)

// File is where a report will be saved. It is opened before the run, so that a long test
// does not end with "permission denied", and a file that is there already is only replaced by a
// whole report.
type File struct {
	name     string
	at       string // name without symbolic links
	format   string
	file     *os.File
	temp     bool // file is a temporary file in the same directory, to be renamed
	standard bool // file is standard output or standard error, and stays open
	saved    bool // file has the whole report, and is not removed
}

// OutputFileUsage is the usage of --output-file of the commands that run a test.
const OutputFileUsage = "`file` to save the report in, too; you can repeat it. The ending of the name selects the format: .html, .txt, .yaml, .md, .xml (JUnit), .csv, .hlog, .hgrm, otherwise JSON; compressed if .gz follows"

// Files are the files of --output-file.
type Files []*File

// OpenFiles opens the files that a report will be saved in.
func OpenFiles(names []string) (Files, error) {
	var all Files
	for _, name := range names {
		f, err := openFile(name)
		if err != nil {
			all.Discard()
			return nil, command.Usagef("--output-file: %v", err)
		}
		all = append(all, f)
	}
	return all, nil
}

// Save writes the report to each file, also if another one fails.
func (all Files) Save(r *rv.Report) error {
	var errs []error
	for _, f := range all {
		errs = append(errs, f.save(func(w io.Writer) error { return Write(w, f.format, r) }))
	}
	return command.All(errs...)
}

// Discard leaves nothing behind when there is no report. After Save it does nothing.
func (all Files) Discard() {
	for _, f := range all {
		f.discard()
	}
}

func openFile(name string) (*File, error) {
	if name == "" {
		return nil, errors.New("the name of the file is missing")
	}
	info, err := os.Stat(name)
	if f := standardFile(info); f != nil {
		return &File{name: name, format: formatOf(name), file: f, standard: true}, nil
	}
	if err == nil && (!info.Mode().IsRegular() || isOpen(name)) {
		// A device or a pipe, such as /dev/null, must be written to, never replaced.
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return nil, command.CannotRead(name, err)
		}
		return &File{name: name, format: formatOf(name), file: f}, nil
	}
	at, err := withoutLinks(name)
	if err != nil {
		return nil, command.CannotRead(name, err)
	}
	f, err := createBeside(at)
	if err != nil {
		return nil, command.CannotRead(name, err)
	}
	return &File{name: name, at: at, format: formatOf(name), file: f, temp: true}, nil
}

// withoutLinks returns the name of the file to which symbolic links lead. The file may not exist yet.
func withoutLinks(name string) (string, error) {
	at, err := filepath.EvalSymlinks(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return at, err
	}
	dir, base := filepath.Split(name)
	if dir, err = filepath.EvalSymlinks(cmp.Or(dir, ".")); err != nil {
		return "", err
	}
	at = filepath.Join(dir, base)
	to, notLink := os.Readlink(at)
	switch {
	case notLink != nil:
		return at, nil
	case !filepath.IsAbs(to): // not joined: a .. after a link to a directory leads to the parent of that directory
		to = dir + string(filepath.Separator) + to
	}
	return withoutLinks(to)
}

// createBeside creates a temporary file in the directory of another one. It has the mode that a redirection of a shell
// leaves: that of the other file, or what the umask allows.
func createBeside(at string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(at), "."+filepath.Base(at)+"."+rand.Text()[:8])
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	if info, missing := os.Stat(at); missing == nil {
		_ = f.Chmod(info.Mode().Perm()) // some file systems have no modes
	}
	return f, nil
}

// standardFile returns standard output or standard error if it is that file, else nil. The report and what the command
// prints share one offset then: with two, each overwrites the other in a file.
func standardFile(info os.FileInfo) *os.File {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if standard, err := f.Stat(); err == nil && os.SameFile(info, standard) {
			return f
		}
	}
	return nil
}

// isOpen reports whether a name stands for a file that a process has opened, such as the one to which a shell redirects
// standard output.
func isOpen(name string) bool {
	return name == "/dev/stdout" || name == "/dev/stderr" || strings.HasPrefix(name, "/dev/fd/") ||
		strings.HasPrefix(name, "/proc/")
}

// endings are the endings of names that select another format than JSON.
var endings = map[string]string{
	".html": outputHTML, ".yaml": command.OutputYAML, ".yml": command.OutputYAML, ".txt": command.OutputText,
	".md":  outputMarkdown,
	".xml": outputJUnit, ".csv": outputCSV,
	".hlog": outputHistogramLog, ".hgrm": outputPercentiles,
}

// formatOf returns the format that the name of a file selects.
func formatOf(name string) string {
	return cmp.Or(endings[filepath.Ext(strings.TrimSuffix(name, ".gz"))], command.OutputJSON)
}

// save writes the document, compressed when the name ends in .gz, and puts it in its place.
func (r *File) save(write func(io.Writer) error) error {
	err := r.write(write)
	if closing := r.close(); err == nil {
		err = closing
	}
	r.saved = err == nil
	if r.saved && r.temp {
		err = r.replace()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return nil
}

// replace gives the temporary file its name. A file that cannot be replaced, such as one that is mounted into a
// container, gets the content. If that fails, too, it may have lost what it had, and the temporary file has the only
// report.
func (r *File) replace() error {
	err := os.Rename(r.file.Name(), r.at)
	if err == nil {
		return nil
	}
	if _, missing := os.Stat(r.at); missing == nil {
		err = r.writeInPlace()
	}
	if err != nil {
		return fmt.Errorf("%w; the report is in %s", err, r.file.Name())
	}
	return os.Remove(r.file.Name())
}

func (r *File) writeInPlace() error {
	content, err := os.ReadFile(r.file.Name())
	if err != nil {
		return err
	}
	return os.WriteFile(r.at, content, 0o644)
}

func (r *File) write(write func(io.Writer) error) error {
	if !strings.HasSuffix(r.name, ".gz") {
		return write(r.file)
	}
	z := gzip.NewWriter(r.file)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

func (r *File) close() error {
	if r.standard {
		return nil
	}
	return r.file.Close()
}

func (r *File) discard() {
	if r.saved {
		return
	}
	_ = r.close() // nothing in it is wanted; it may be closed already
	if r.temp {
		_ = os.Remove(r.file.Name())
	}
}
