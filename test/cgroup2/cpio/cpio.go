// Package cpio writes archives in the "newc" format, which Linux unpacks as its initramfs
// (Documentation/driver-api/early-userspace/buffer-format.rst).
package cpio

import (
	"fmt"
	"io"
	"strings"
)

// Modes of the entries.
const (
	modeFile      = 0o100000
	modeDirectory = 0o040000
)

// trailer is the name of the entry that ends an archive.
const trailer = "TRAILER!!!"

// Writer writes the entries of one archive. Close writes its end. The first error is kept and returned by every later
// call.
type Writer struct {
	w     io.Writer
	inode int
	err   error
}

// NewWriter returns a Writer of an archive to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// File adds a regular file. A directory must be added before what is in it. name has no leading slash.
func (w *Writer) File(name string, permissions int, content []byte) error {
	return w.entry(name, modeFile|permissions, content)
}

// Directory adds a directory.
func (w *Writer) Directory(name string, permissions int) error {
	return w.entry(name, modeDirectory|permissions, nil)
}

// Close ends the archive. It does not close the io.Writer.
func (w *Writer) Close() error { return w.entry(trailer, 0, nil) }

// entry writes a header of 13 fields with 8 hexadecimal digits each, the name and the content, both padded to 4 octets.
func (w *Writer) entry(name string, mode int, content []byte) error {
	w.inode++
	const links = 1
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		w.inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	w.write([]byte(header + name + "\x00" + padding(len(header)+len(name)+1)))
	w.write(content)
	w.write([]byte(padding(len(content))))
	return w.err
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// padding fills n octets up to a multiple of 4.
func padding(n int) string { return strings.Repeat("\x00", -n&3) }
