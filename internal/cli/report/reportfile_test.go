package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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
