package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Marks are the lines of a page between which a program writes its tables. All other lines are written by hand.
type Marks struct{ begin, end string }

// MarksOf returns the lines for a command, such as "make bench".
func MarksOf(command string) Marks {
	return Marks{
		begin: fmt.Sprintf("<!-- begin of what %q writes -->", command),
		end:   fmt.Sprintf("<!-- end of what %q writes -->", command),
	}
}

// Check returns an error if a file does not have the marks.
func (m Marks) Check(file string) error {
	_, err := m.replaceIn(file, "")
	return err
}

// Write replaces what is between the marks of a file; "": of none.
func (m Marks) Write(file, tables string) error {
	if file == "" {
		return nil
	}
	fresh, err := m.replaceIn(file, tables)
	if err != nil {
		return err
	}
	return os.WriteFile(file, fresh, 0o644)
}

func (m Marks) replaceIn(file, tables string) ([]byte, error) {
	old, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fresh, err := m.replace(old, tables)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return fresh, nil
}

func (m Marks) replace(old []byte, tables string) ([]byte, error) {
	head, rest, ok := bytes.Cut(old, []byte(m.begin))
	if !ok {
		return nil, errors.New("the line that begins the tables is missing")
	}
	_, tail, ok := bytes.Cut(rest, []byte(m.end))
	if !ok {
		return nil, errors.New("the line that ends the tables is missing")
	}
	return bytes.Join([][]byte{head, []byte(m.begin + "\n" + tables + m.end), tail}, nil), nil
}

// Table returns a table in Markdown.
func Table(head []string, rows [][]string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, cells := range rows {
		for i := range cells {
			cells[i] = cell(cells[i])
		}
		fmt.Fprintf(&s, "| %s |\n", strings.Join(cells, " | "))
	}
	return s.String()
}

// None is the cell of a figure that does not exist.
const None = "-"

// cell returns a text that does not break a table.
func cell(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "|", "/"), "\n", " ")
	if text == "" {
		return None
	}
	return text
}

// Figure writes a number with three significant digits, and from 1000 as a whole number.
func Figure(v float64) string {
	if v >= 1000 {
		return Thousands(int64(v + 0.5))
	}
	digits := 2
	switch {
	case v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	case v < 0.1 && v > 0:
		digits = 3
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Thousands groups digits by a space: 1 234 567.
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
