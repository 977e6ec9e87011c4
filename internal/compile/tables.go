package compile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// table is what is known of a csv variable before a runner reads it, or of subscribers.
type table struct {
	// columns are nil when only the file has their names.
	columns []string
	// rows are nil unless the manifest has them.
	rows [][]string
	// computed: the table is that of subscribers. absent has the reasons why it lacks columns, by their names.
	computed bool
	absent   map[string]string
}

func (t *table) index(column string) int { return slices.Index(t.columns, column) }

func (t *table) known(column string) (out []known) {
	if t.computed {
		return ofSubscribers(column)
	}
	k, what := t.index(column), fmt.Sprintf("value of column %q in row", column)
	out = slices.Grow(out, len(t.rows))
	for i, row := range t.rows {
		out = append(out, known{row[k], what, i})
	}
	return out
}

// csv compiles a table. Nothing is known of one that is wrong.
func (c *checker) csv(at *field.Path, in *v1alpha1.CSV) (*rv.CSV, *table) {
	file := c.source(at, in.ConfigMapKeyRef, in.SecretKeyRef, in.File)
	sound := c.columns(at.Child("columns"), in.Columns) && (file != "") != (in.Text != "") &&
		!c.structure.wrong(at.String())
	delimiter, ok := c.delimiter(at.Child("delimiter"), in.Delimiter)
	out := &rv.CSV{Content: rv.Content{Text: in.Text, File: file}, Columns: orNil(in.Columns), Delimiter: in.Delimiter}
	if delimiter == ',' {
		out.Delimiter = ""
	}
	switch {
	case !sound || !ok:
		return out, &table{}
	case in.Text == "":
		return out, &table{columns: out.Columns}
	}
	return out, c.table(at, in, delimiter)
}

func (c *checker) columns(path *field.Path, columns []string) bool {
	index := map[string]int{}
	for i, name := range columns {
		c.unique(path.Index(i), index, name, i)
	}
	return len(index) == len(columns)
}

func (c *checker) delimiter(path *field.Path, s string) (rune, bool) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case size != len(s) || r == utf8.RuneError:
		c.fail(path, "must be one character")
	case r == '"' || r == '\r' || r == '\n' || r == 0:
		c.fail(path, "must not be a quote, a line end or NUL")
	default:
		return r, true
	}
	return 0, false
}

// table parses a table that the manifest has.
func (c *checker) table(at *field.Path, in *v1alpha1.CSV, delimiter rune) *table {
	path := at.Child("text")
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(in.Text, "\ufeff")))
	r.Comma = delimiter
	rows, err := r.ReadAll()
	var broken *csv.ParseError
	switch {
	case errors.As(err, &broken):
		c.fail(path, "line %d: %s", broken.Line, tableProblem(broken))
		return &table{}
	case err != nil:
		c.fail(path, "is not a table (RFC 4180)")
		return &table{}
	}
	out := &table{columns: in.Columns, rows: rows}
	if len(in.Columns) == 0 && len(rows) > 0 {
		out.columns, out.rows = rows[0], rows[1:]
	}
	switch {
	case len(out.rows) == 0:
		c.fail(path, "has no row of values")
		return &table{}
	case len(out.rows[0]) != len(out.columns):
		c.fail(at.Child("columns"), "has %d names for %d columns", len(out.columns), len(out.rows[0]))
		return &table{}
	}
	index := map[string]int{}
	for i, name := range out.columns {
		if name == "" {
			c.fail(path, "column %d has no name in the first row", i)
			return &table{}
		}
		if first, taken := index[name]; taken {
			c.fail(path, "columns %d and %d have the same name in the first row", first, i)
			return &table{}
		}
		index[name] = i
	}
	return out
}

func tableProblem(err *csv.ParseError) string {
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return "has another number of fields than the first row"
	case errors.Is(err, csv.ErrBareQuote):
		return `has a quote in a field without quotes; put the field in quotes and write "" for a quote in it (RFC 4180)`
	}
	return `has a quote that is not closed, or something behind a closing one; write "" for a quote in quotes (RFC 4180)`
}
