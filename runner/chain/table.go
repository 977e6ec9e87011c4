package chain

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// maxTable bounds the content of a table, in octets.
const maxTable = 1 << 30

// table has rows of fields. All workers share it. The octets of all fields are in one slice, and each field needs four
// more octets: about 6 MB for 100000 rows of three fields of 16 octets.
type table struct {
	columns []string
	// ownNames: the first row of the table has the names.
	ownNames bool
	octets   []byte
	// ends[row*len(columns)+column] is the end of a field in octets. The field begins at the end of the previous one.
	ends []uint32
	safe bool
}

// newTable parses CSV (RFC 4180). Rows end with CRLF or LF. Inside quotes CRLF becomes LF. Empty lines are skipped.
func newTable(c *rv.CSV, content []byte) (*table, error) {
	if len(content) > maxTable {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", len(content), maxTable)
	}
	comma, n := utf8.DecodeRuneInString(c.Delimiter)
	switch {
	case c.Delimiter == "":
		comma = ','
	case n != len(c.Delimiter) || comma == utf8.RuneError || strings.ContainsRune("\"\r\n", comma):
		return nil, fmt.Errorf("delimiter: %q is not a character that can separate fields", c.Delimiter)
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	r.Comma, r.ReuseRecord, r.FieldsPerRecord = comma, true, len(c.Columns)
	t := &table{columns: c.Columns, safe: true}
	if len(t.columns) == 0 {
		t.ownNames = true
		if err := t.header(r); err != nil {
			return nil, err
		}
	}
	if err := checkColumns(t.columns); err != nil {
		return nil, err
	}
	return t, t.read(r)
}

func (t *table) header(r *csv.Reader) error {
	names, err := r.Read()
	if err != nil {
		return fmt.Errorf("the row with the column names: %w", csvError(err))
	}
	t.columns = slices.Clone(names)
	return nil
}

func checkColumns(names []string) error {
	for i, name := range names {
		switch {
		case name == "":
			return fmt.Errorf("column %d has no name", i+1)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("columns %d and %d have the same name", slices.Index(names, name)+1, i+1)
		}
	}
	return nil
}

func (t *table) read(r *csv.Reader) error {
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad := (*csv.ParseError)(nil); errors.As(err, &bad) && errors.Is(err, csv.ErrFieldCount) {
			return fmt.Errorf("line %d: the number of fields is %d, and that of columns is %d", bad.Line, len(row),
				len(t.columns))
		}
		if err != nil {
			return csvError(err)
		}
		for _, field := range row {
			t.octets = append(t.octets, field...)
			t.ends = append(t.ends, uint32(len(t.octets)))
		}
	}
	if len(t.ends) == 0 {
		return errors.New("the table has no rows")
	}
	t.octets, t.ends = slices.Clip(t.octets), slices.Clip(t.ends)
	t.safe = isPlain(t.octets)
	return nil
}

// csvError returns an error with the line, but without its content.
func csvError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the table is empty")
	}
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("line %d: %w", bad.Line, bad.Err)
	}
	return err
}

func (t *table) Columns() []string { return t.columns }

func (t *table) rows() int64 { return int64(len(t.ends) / len(t.columns)) }

func (t *table) Plain() bool { return t.safe }

func (t *table) Append(dst []byte, v int64, column int) []byte {
	i := int(v)*len(t.columns) + column
	from := uint32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return append(dst, t.octets[from:t.ends[i]]...)
}
