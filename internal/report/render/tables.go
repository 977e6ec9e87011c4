package render

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// table is a section of the report. Text, Markdown and HTML write it, and do not build rows of their own. They format
// figures as their readers need them.
type table struct {
	ID, Caption string
	// Topic is the part of the page with the table. Empty: the page does not have it.
	Topic string
	Head  []string
	// Left is the number of columns with text. The columns after them are figures.
	Left int
	Rows []tableRow
	// Wide are the names of columns that only the page has.
	Wide []string
	// Most is the maximum number of rows in text and Markdown. Zero: all.
	Most int
	// Group is true if the first column names groups of rows. Text writes each name once, above its rows.
	Group bool
	// List is true if text writes each cell on lines of its own.
	List bool
	// Zeros is true if columns with zeros only stay.
	Zeros bool
	// Detail is true if Markdown does not have the table: it is a summary.
	Detail bool
}

// tableRow belongs to a window when it is Timed, From and To milliseconds since the start.
type tableRow struct {
	Cells    []any
	From, To int64
	Timed    bool
	Bad      bool
}

// Topics of the page.
const (
	topicVerdict   = "verdict"
	topicRate      = "rate"
	topicTimes     = "times"
	topicObserved  = "observed"
	topicErrors    = "errors"
	topicSteps     = "steps"
	topicGenerator = "generator"
)

// tables returns the sections of a report that have rows, in the order of text and Markdown. The times are those of
// timesOf, with their distributions if the caller has read them.
func tables(r *runnerv1alpha1.Report, times []timed) (out []*table) {
	for _, t := range []*table{
		thresholdTable(r), probeTable(r), scalabilityTable(r), requestTable(r), stageTable(r),
		stageTimeTable(r), timeTable(r, times),
		observationTable(r), gapTable(r), phaseTable(r), stepTable(r), stepPhaseTable(r),
		messageTable(r), detailTable(r), chainTable(r),
		operationTable(r), notificationTable(r), notificationTimes(r), statusTable(r), causeTable(r), failureTable(r),
		sampleTable(r), slowestTable(r), healthTable(r), shardTable(r),
	} {
		if t.dropZeros(); len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (t *table) add(cells ...any) { t.Rows = append(t.Rows, tableRow{Cells: cells}) }

// count adds a row for what was counted, except zero.
func (t *table) count(n int64, name ...any) {
	if n != 0 {
		t.add(append(name, n)...)
	}
}

// texts formats the figures of a row with a function, and its texts as they are.
func (t *table) texts(row tableRow, figure func(cell any) string) []string {
	out := make([]string, len(row.Cells))
	for i, c := range row.Cells {
		if text, is := c.(string); is && i < t.Left {
			out[i] = text
		} else {
			out[i] = figure(c)
		}
	}
	return out
}

// Long formats a row for the page.
func (t *table) Long(row tableRow) []string { return t.texts(row, long) }

// dropZeros removes the columns of figures that have zeros only, and all rows if no figure remains.
func (t *table) dropZeros() {
	*t = *t.columns(func(i int) bool {
		return i < t.Left || t.Zeros || slices.ContainsFunc(t.Rows,
			func(r tableRow) bool { return !isZero(r.Cells[i]) })
	})
}

// columns returns the table with some of its columns, and without rows if it had figures and has none.
func (t *table) columns(keep func(i int) bool) *table {
	out := *t
	out.Head, out.Left, out.Rows = nil, 0, nil
	for i := range t.Head {
		if keep(i) {
			out.Head = append(out.Head, t.Head[i])
			if i < t.Left {
				out.Left++
			}
		}
	}
	if t.Left < len(t.Head) && out.Left == len(out.Head) {
		return &out
	}
	for _, row := range t.Rows {
		var cells []any
		for i, c := range row.Cells {
			if keep(i) {
				cells = append(cells, c)
			}
		}
		row.Cells = cells
		out.Rows = append(out.Rows, row)
	}
	return &out
}

// narrow returns the table with the columns and the rows of text and Markdown, and the number of rows that it leaves
// out.
func (t *table) narrow() (out *table, more int) {
	out = t.columns(func(i int) bool { return !slices.Contains(t.Wide, t.Head[i]) })
	if n := len(out.Rows); t.Most > 0 && n > t.Most {
		out.Rows, more = out.Rows[:t.Most], n-t.Most
	}
	return out, more
}
