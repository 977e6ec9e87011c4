package cli

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ReportFile is where a report will be saved. It is opened before the run, so that a long test
// does not end with "permission denied", and a file that is there already is only replaced by a
// whole report.
type ReportFile struct {
	name  string
	file  *os.File
	temp  bool // file is a temporary file in the same directory, to be renamed
	saved bool
}

// OpenReportFile opens the file that a report will be saved in.
func OpenReportFile(name string) (*ReportFile, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		// A device or a pipe, such as /dev/null, must be written to, never replaced.
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, cannotRead(name, err)
		}
		return &ReportFile{name: name, file: f}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, cannotRead(name, err)
	}
	return &ReportFile{name: name, file: f, temp: true}, nil
}

// Format is that of the name.
func (r *ReportFile) Format() string {
	switch filepath.Ext(strings.TrimSuffix(r.name, ".gz")) {
	case ".html":
		return outputHTML
	case ".yaml", ".yml":
		return OutputYAML
	case ".txt":
		return OutputText
	}
	return OutputJSON
}

// Save writes the document, compressed when the name ends in .gz, and puts it in its place.
func (r *ReportFile) Save(write func(io.Writer) error) error {
	err := r.write(write)
	if closing := r.file.Close(); err == nil {
		err = closing
	}
	if err == nil && r.temp {
		err = os.Rename(r.file.Name(), r.name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	r.saved = true
	return nil
}

func (r *ReportFile) write(write func(io.Writer) error) error {
	if r.temp {
		// CreateTemp makes it for the owner alone; a report is as public as what a shell's
		// redirection would make.
		if err := r.file.Chmod(0o644); err != nil {
			return err
		}
	}
	if !strings.HasSuffix(r.name, ".gz") {
		return write(r.file)
	}
	z := gzip.NewWriter(r.file)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

// Discard leaves nothing behind when there is no report. After Save it does nothing.
func (r *ReportFile) Discard() {
	if r.saved {
		return
	}
	_ = r.file.Close() // nothing in it is wanted; it may be closed already
	if r.temp {
		_ = os.Remove(r.file.Name())
	}
}
