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

// parseTable parses the content of a CSV variable as runners do. The row with the names of the columns is not one of
// rows.
func parseTable(c *rv.CSV, content []byte) (columns []string, rows [][]string, err error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	if c.Delimiter != "" {
		r.Comma, _ = utf8.DecodeRuneInString(c.Delimiter)
	}
	rows, err = r.ReadAll()
	switch {
	case err != nil:
		return nil, nil, err
	case len(rows) == 0:
		return nil, nil, errors.New("the table has no rows")
	case len(c.Columns) > 0:
		return c.Columns, rows, nil
	}
	return rows[0], rows[1:], nil
}
