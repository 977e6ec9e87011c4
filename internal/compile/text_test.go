package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseText(t *testing.T) {
	lit := func(s string) piece { return piece{literal: s} }
	hole := func(s string) piece { return piece{name: s} }
	for _, tc := range []struct {
		in   string
		want []piece
	}{
		{"", nil},
		{"plain", []piece{lit("plain")}},
		{"${a}", []piece{hole("a")}},
		{"${a}${b_1}", []piece{hole("a"), hole("b_1")}},
		{"x${a}y", []piece{lit("x"), hole("a"), lit("y")}},
		{"$", []piece{lit("$")}},
		{"$$", []piece{lit("$")}},
		{"$$$", []piece{lit("$$")}},
		{"$$$$", []piece{lit("$$")}},
		{"$1 and 5$", []piece{lit("$1 and 5$")}},
		{"$${a}", []piece{lit("${a}")}},
		{"$$${a}", []piece{lit("$"), hole("a")}},
		{"{a}}", []piece{lit("{a}}")}},
	} {
		got, err := parseText(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
		}
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(piece{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.in, diff)
		}
	}
	for _, in := range []string{"${", "${a", "a${}", "${ a}", "${a b}", "${1a}", "${a-b}", "${" + strings.Repeat("a", 51) + "}"} {
		if got, err := parseText(in); err == nil {
			t.Errorf("%q gives %v, want an error", in, got)
		}
	}
}

// FuzzParseText: what comes out, put together again, is what went in.
func FuzzParseText(f *testing.F) {
	f.Add("a${b}$$c$d")
	f.Add("${a}${")
	f.Fuzz(func(t *testing.T, s string) {
		pieces, err := parseText(s)
		if err != nil {
			return
		}
		var again strings.Builder
		for i, p := range pieces {
			if (p.literal == "") == (p.name == "") {
				t.Fatalf("piece %d is %+v", i, p)
			}
			if p.name != "" {
				again.WriteString("${" + p.name + "}")
				continue
			}
			again.WriteString(strings.ReplaceAll(p.literal, "$", "$$"))
		}
		back, err := parseText(again.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", s, again.String(), err)
		}
		if diff := cmp.Diff(pieces, back, cmp.AllowUnexported(piece{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	})
}
