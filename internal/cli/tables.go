package cli

import (
	"bytes"
	"encoding/csv"
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// secretName returns "name/key" if the file holds a key of a Secret.
func secretName(file string) (name string, ok bool) {
	return strings.CutPrefix(file, path.Join(compile.FilesDir, "secrets")+"/")
}

// csvTable is a parsed table of a CSV variable.
type csvTable struct {
	delimiter rune
	columns   []string
	// names is the row of names, if the content has one.
	names [][]string
	rows  [][]string
}

// parseTable parses the content of a CSV variable as runners do.
func parseTable(c *rv.CSV, content []byte) (t csvTable, err error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	if c.Delimiter != "" {
		r.Comma, _ = utf8.DecodeRuneInString(c.Delimiter)
	}
	rows, err := r.ReadAll()
	switch {
	case err != nil:
		return t, err
	case len(rows) == 0:
		return t, errors.New("the table has no rows")
	case len(c.Columns) > 0:
		return csvTable{delimiter: r.Comma, columns: c.Columns, rows: rows}, nil
	}
	return csvTable{delimiter: r.Comma, columns: rows[0], names: rows[:1], rows: rows[1:]}, nil
}
