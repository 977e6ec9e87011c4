package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// A cell of a table is a text (string), a count (int64), or one of these types. A cell that is nil is not known.
type (
	// timeCell is in microseconds, and offsetCell in milliseconds since the start.
	timeCell   int64
	offsetCell int64
	// shareCell is a ratio, and rateCell a number per second.
	shareCell float64
	rateCell  float64
)

// long formats a cell for people: "1,200", "12.3 ms".
func long(cell any) string {
	switch c := cell.(type) {
	case string:
		return spaced(c)
	case int64:
		return grouped(c)
	case timeCell:
		return micro(int64(c))
	case offsetCell:
		return offset(int64(c))
	case shareCell:
		return build.FormatPercent(float64(c))
	case rateCell:
		return build.FormatRate(float64(c))
	case observedCell:
		return build.FormatValue(c.value, c.unit)
	}
	return "-"
}

// compact formats a figure for people in as few columns as possible: "12.3ms".
func compact(cell any) string {
	switch c := cell.(type) {
	case string:
		return c
	case timeCell:
		s := build.FormatTime(int64(c))
		if len(s) > 7 {
			s = strings.Replace(s, "> ", ">", 1)
		}
		return s
	case offsetCell:
		return strings.ReplaceAll(long(c), " ", "")
	}
	return long(cell)
}

// raw formats a cell for programs: "1200", "12300". A time is "> 5s" if there was no response: a number could be read
// as a measured time.
func raw(cell any) string {
	switch c := cell.(type) {
	case string:
		return c
	case bool:
		return strconv.FormatBool(c)
	case int64:
		return decimal(c)
	case offsetCell:
		return decimal(int64(c))
	case timeCell:
		if _, above := runnerv1alpha1.LimitOf(int64(c)); above {
			return build.FormatTime(int64(c))
		}
		return decimal(int64(c))
	case shareCell:
		return runnerv1alpha1.FormatPercentage(float64(c), 6)
	case rateCell:
		return strconv.FormatFloat(float64(c), 'f', -1, 64)
	case observedCell:
		return strconv.FormatFloat(c.value, 'f', -1, 64)
	}
	return ""
}

// number returns the value of a figure.
func number(cell any) float64 {
	switch c := cell.(type) {
	case int64:
		return float64(c)
	case timeCell:
		return float64(c)
	case offsetCell:
		return float64(c)
	case rateCell:
		return float64(c)
	case observedCell:
		return c.value
	}
	return 0
}

// isZero returns true for what a column can have without being of interest. An error rate of 0 is of interest.
func isZero(cell any) bool {
	switch c := cell.(type) {
	case nil:
		return true
	case string:
		return c == ""
	case shareCell:
		return false
	}
	return number(cell) == 0
}

// writeCSV writes a row with the names of the columns, and the others. What names the contents, for errors.
func writeCSV(w io.Writer, what string, head []string, rows [][]any) error {
	out := csv.NewWriter(w)
	_ = out.Write(head) // Error returns it
	for _, row := range rows {
		cells := make([]string, len(head))
		for i, c := range row {
			cells[i] = raw(c)
		}
		_ = out.Write(cells)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing the %s as CSV: %w", what, err)
	}
	return nil
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
