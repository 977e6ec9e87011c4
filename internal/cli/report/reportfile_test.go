package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSaveInPlace: a file that another one cannot replace, such as a file that is mounted into a container, gets the
// content. Here it is one that a rename does not reach, because the name belongs to another file system.
func TestSaveInPlace(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "mounted"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	if _, err := file.WriteString("an old and longer report"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f, err := openFile(filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	f.at = fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	err = f.save(func(w io.Writer) error {
		_, err := io.WriteString(w, "a report")
		return err
	})
	f.discard()
	left, unreadable := os.ReadDir(dir)
	if got, unread := os.ReadFile(file.Name()); err != nil || unread != nil || string(got) != "a report" || unreadable != nil || len(left) > 0 {
		t.Errorf("%v, %v, %v: %q, want %q; left in the directory: %v", err, unread, unreadable, got, "a report", left)
	}
}

// TestSaveFails: a report that cannot get its name stays in the temporary file, which the error names.
func TestSaveFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close() //nolint:errcheck // nothing was written
	for _, at := range []string{
		t.TempDir(), filepath.Join(t.TempDir(), "removed", "r.json"), fmt.Sprintf("/proc/self/fd/%d", full.Fd()),
	} {
		f, err := openFile(filepath.Join(t.TempDir(), "r.json"))
		if err != nil {
			t.Fatal(err)
		}
		f.at = at
		failed := f.save(func(w io.Writer) error {
			_, err := io.WriteString(w, "a report")
			return err
		})
		f.discard()
		got, err := os.ReadFile(f.file.Name())
		if err != nil || string(got) != "a report" || failed == nil || !strings.Contains(failed.Error(), f.file.Name()) {
			t.Errorf("%s: %v; the temporary file: %q, %v", at, failed, got, err)
		}
	}
}

// TestSaveToStandardOutput: the summary of a run follows the report if both go to the same redirected file.
func TestSaveToStandardOutput(t *testing.T) {
	byName, byDescriptor := (*os.File).Name, func(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
	for i, tc := range []struct {
		standard **os.File
		name     func(*os.File) string
	}{
		{&os.Stdout, byName}, {&os.Stdout, byDescriptor},
		{&os.Stderr, byName}, {&os.Stderr, byDescriptor},
	} {
		file, err := os.Create(filepath.Join(t.TempDir(), "redirected"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close() //nolint:errcheck // the test reads what it wrote
		before := *tc.standard
		*tc.standard = file
		f, err := openFile(tc.name(file))
		*tc.standard = before
		if err != nil {
			t.Fatal(err)
		}
		saving := f.save(func(w io.Writer) error {
			_, err := io.WriteString(w, "a report\n")
			return err
		})
		f.discard()
		_, printing := file.WriteString("a summary\n")
		const want = "a report\na summary\n"
		if got, err := os.ReadFile(file.Name()); saving != nil || printing != nil || err != nil || string(got) != want {
			t.Errorf("%d: %v, %v, %v: %q, want %q", i, saving, printing, err, got, want)
		}
	}
}

// TestReportMode: a report has the mode that a shell's redirection would give it.
func TestReportMode(t *testing.T) {
	for _, tc := range []struct {
		umask       int
		there, want os.FileMode // there is the mode of the file before; 0: there is none
	}{
		{0o022, 0, 0o644},
		{0o077, 0, 0o600},
		{0o022, 0o600, 0o600},
		{0o077, 0o664, 0o664},
	} {
		name := filepath.Join(t.TempDir(), "r.json")
		if tc.there != 0 {
			if err := os.WriteFile(name, nil, tc.there); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(name, tc.there); err != nil {
				t.Fatal(err)
			}
		}
		before := syscall.Umask(tc.umask)
		f, err := openFile(name)
		if err == nil {
			err = f.save(func(io.Writer) error { return nil })
		}
		syscall.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != tc.want {
			t.Errorf("umask %o, mode %o before: mode %o, want %o", tc.umask, tc.there, info.Mode(), tc.want)
		}
	}
}
