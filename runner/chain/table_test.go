package chain

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func rowsIn(t *table) [][]string {
	var out [][]string
	for i := range t.rows() {
		var row []string
		for c := range t.columns {
			row = append(row, string(t.Append(nil, i, c)))
		}
		out = append(out, row)
	}
	return out
}

func TestTables(t *testing.T) {
	for name, tt := range map[string]struct {
		csv     rv.CSV
		content string
		columns []string
		want    [][]string
	}{
		"header":          {rv.CSV{}, "a,b\r\n1,2\r\n3,\r\n", []string{"a", "b"}, [][]string{{"1", "2"}, {"3", ""}}},
		"columns":         {rv.CSV{Columns: []string{"x"}}, "a\nb", []string{"x"}, [][]string{{"a"}, {"b"}}},
		"byte order mark": {rv.CSV{}, "\uFEFFa\n1\n", []string{"a"}, [][]string{{"1"}}},
		"quotes":          {rv.CSV{}, "a,b\n\"x,\"\"y\"\"\",\"1\r\n2\"\n", []string{"a", "b"}, [][]string{{`x,"y"`, "1\n2"}}},
		"delimiter":       {rv.CSV{Delimiter: ";"}, "a;b\n1,5;2\n", []string{"a", "b"}, [][]string{{"1,5", "2"}}},
		"wide delimiter":  {rv.CSV{Delimiter: "§"}, "a§b\n1§2\n", []string{"a", "b"}, [][]string{{"1", "2"}}},
	} {
		got, err := newTable(&tt.csv, []byte(tt.content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, rowsIn(got)) + cmp.Diff(tt.columns, got.columns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTablesThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		csv     rv.CSV
		content string
		want    string
	}{
		{rv.CSV{}, "", "the row with the column names: the table is empty"},
		{rv.CSV{}, "a,b\n", "the table has no rows"},
		{rv.CSV{Columns: []string{"a"}}, "\n\n", "the table has no rows"},
		{rv.CSV{}, "a,b\n1\n", "line 2: the number of fields is 1, and that of columns is 2"},
		{rv.CSV{Columns: []string{"a", "b"}}, "1,2\n1,2,3\n", "line 2: the number of fields is 3, and that of columns is 2"},
		{rv.CSV{}, "a\n\"x\n", `line 2: extraneous or missing " in quoted-field`},
		{rv.CSV{}, "a,a\n1,2\n", "columns 1 and 2 have the same name"},
		{rv.CSV{}, "a,\n1,2\n", "column 2 has no name"},
		{rv.CSV{Delimiter: "::"}, "a\n1\n", `delimiter: "::" is not a character that can separate fields`},
		{rv.CSV{Delimiter: "\n"}, "a\n1\n", `delimiter: "\n" is not a character that can separate fields`},
	} {
		_, err := newTable(&tt.csv, []byte(tt.content))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v %q: %v, want %s", tt.csv, tt.content, err, tt.want)
		}
	}
}

// A table without the row of names has data there, which may be secret.
func TestColumnsThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		csv          rv.CSV
		column, want string
	}{
		{rv.CSV{}, "key", `the variable user has no column "key"; the first row names 2`},
		{rv.CSV{}, "", "the variable user is a table and needs a column; the first row names 2"},
		{rv.CSV{Columns: []string{"name", "token"}}, "key", `the variable user has no column "key"; there are ["name" "token"]`},
	} {
		table, err := newTable(&tt.csv, []byte("anna,hidden\nbert,hidden\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&variable{name: "user", values: table}).column(tt.column)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%+v, column %q: %v, want %s", tt.csv, tt.column, err, tt.want)
		}
	}
}

// FuzzTable: a table has the fields that encoding/csv finds, and an error never quotes them.
func FuzzTable(f *testing.F) {
	for _, s := range []string{"a,b\r\n1,2\r\n", "\uFEFFa\n\"x\"\"y\"\n", "a;b\n", "\"", "a\n\n\nb\n", "a,b\n1,2,3"} {
		f.Add(s, ",", false)
		f.Add(s, ";", true)
	}
	f.Fuzz(func(t *testing.T, content, delimiter string, named bool) {
		c := rv.CSV{Delimiter: delimiter}
		if named {
			c.Columns = []string{"x", "y"}
		}
		got, err := newTable(&c, []byte(content))
		if err != nil {
			return
		}
		r := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\uFEFF")))
		r.Comma = ','
		for _, d := range delimiter {
			r.Comma = d
		}
		want, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if !named {
			want = want[1:]
		}
		if diff := cmp.Diff(want, rowsIn(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// FuzzBodyFrom: whatever a file holds, it is a body or an error, and without placeholders it is the file itself.
func FuzzBodyFrom(f *testing.F) {
	for _, s := range []string{"${ue}", "$$ ${colour", "${pad(ue, 8)}${hmacSha256(ue, colour)}", "${session} ${x}", "\x00\xff", "${urlEncode(jsonEscape(colour))}", "${t.a}"} {
		f.Add([]byte(s))
	}
	p := lifeCycle()
	p.Variables = append(p.Variables, rv.Variable{Name: "t", CSV: &rv.CSV{Content: rv.Content{Text: "a,b\n1,2\n"}}})
	f.Fuzz(func(t *testing.T, content []byte) {
		p.Chains[0].Steps[1].BodyFrom = &rv.BodyFrom{Content: rv.Content{Bytes: content}}
		g, err := Load(p, Resources{})
		if err != nil {
			return
		}
		var in Instance
		src := sources(g)
		in.Start(g, 0, src, 0)
		body := g.Steps[1].AppendBody([]byte("x"), &in)
		if body[0] != 'x' || !bytes.ContainsRune(content, '$') && string(body[1:]) != string(content) {
			t.Errorf("%q renders as %q", content, body[1:])
		}
	})
}
