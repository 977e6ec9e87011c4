package placeholder_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/placeholder"
)

func lit(s string) placeholder.Piece { return placeholder.Piece{Literal: s} }

// named is ${name} with functions around it.
func named(name string, functions ...placeholder.Function) placeholder.Piece {
	name, column, _ := strings.Cut(name, ".")
	return placeholder.Piece{Ref: &placeholder.Reference{Name: name, Column: column, Functions: functions}}
}

func traceparent(name string, ratio float64, functions ...placeholder.Function) placeholder.Piece {
	return placeholder.Piece{Ref: &placeholder.Reference{Name: name, Traceparent: &rv.Traceparent{Ratio: ratio}, Functions: functions}}
}

func pad(width int, fill string) placeholder.Function {
	return placeholder.Function{Name: rv.FunctionPad, Width: width, Fill: fill}
}

func TestParse(t *testing.T) {
	upper, sha := placeholder.Function{Name: rv.FunctionUpper}, placeholder.Function{Name: rv.FunctionSHA256}
	for _, tc := range []struct {
		in   string
		want []placeholder.Piece
	}{
		{"", nil},
		{"plain", []placeholder.Piece{lit("plain")}},
		{"${a}", []placeholder.Piece{named("a")}},
		{"${a}${b_1}", []placeholder.Piece{named("a"), named("b_1")}},
		{"x${a}y", []placeholder.Piece{lit("x"), named("a"), lit("y")}},
		{"$", []placeholder.Piece{lit("$")}},
		{"$$", []placeholder.Piece{lit("$")}},
		{"$$$", []placeholder.Piece{lit("$$")}},
		{"$$$$", []placeholder.Piece{lit("$$")}},
		{"$1 and 5$", []placeholder.Piece{lit("$1 and 5$")}},
		{"$${a}", []placeholder.Piece{lit("${a}")}},
		{"$$${a}", []placeholder.Piece{lit("$"), named("a")}},
		{"{a}}", []placeholder.Piece{lit("{a}}")}},
		{"\xff${a}\x00", []placeholder.Piece{lit("\xff"), named("a"), lit("\x00")}},

		{"${users.name}", []placeholder.Piece{named("users.name")}},
		{"${users.2nd-name}", []placeholder.Piece{named("users.2nd-name")}},
		{"${upper(a)}", []placeholder.Piece{named("a", upper)}},
		{"${upper( users.name\t)}", []placeholder.Piece{named("users.name", upper)}},
		{"${sha256(upper(a))}", []placeholder.Piece{named("a", upper, sha)}},
		{"${upper}", []placeholder.Piece{named("upper")}},
		{"${pad(a,8)}", []placeholder.Piece{named("a", pad(8, "0"))}},
		{"${pad(a, 8, x)}", []placeholder.Piece{named("a", pad(8, "x"))}},
		{"${pad(a, 8, )}", []placeholder.Piece{named("a", pad(8, " "))}},
		{"${pad(a, 8,,)}", []placeholder.Piece{named("a", pad(8, ","))}},
		{"${pad(pad(a, 2), 1024)}", []placeholder.Piece{named("a", pad(2, "0"), pad(1024, "0"))}},
		{"${hmacSha256(upper(a), keys.k)}", []placeholder.Piece{named("a", upper, placeholder.Function{
			Name: rv.FunctionHMACSHA256, Key: &placeholder.Reference{Name: "keys", Column: "k"}})}},
		{"${hxresStar(resStar(rand, ue.k ,ue.opc,net), rand)}", []placeholder.Piece{named("rand",
			placeholder.Function{Name: rv.FunctionRESStar, Arguments: []*placeholder.Reference{{Name: "ue", Column: "k"}, {Name: "ue", Column: "opc"}, {Name: "net"}}},
			placeholder.Function{Name: rv.FunctionHXRESStar, Arguments: []*placeholder.Reference{{Name: "rand"}}})}},
		{"${traceparent(0.010)}", []placeholder.Piece{traceparent("traceparent(0.01)", 0.01)}},
		{"${traceparent( 1 )}${traceparent(0)}", []placeholder.Piece{traceparent("traceparent(1)", 1), traceparent("traceparent(0)", 0)}},
		{"${upper(traceparent(0.0000001))}", []placeholder.Piece{traceparent("traceparent(0.0000001)", 1e-7, upper)}},
		{"${traceparent}", []placeholder.Piece{named("traceparent")}},
		{"${" + strings.Repeat("upper(", 8) + "a" + strings.Repeat(")", 8) + "}", []placeholder.Piece{named("a", upper, upper, upper, upper, upper, upper, upper, upper)}},
		{"${base64(a)}${base64url(a)}${jsonEscape(a)}${lower(a)}${urlEncode(a)}", []placeholder.Piece{
			named("a", placeholder.Function{Name: rv.FunctionBase64}), named("a", placeholder.Function{Name: rv.FunctionBase64URL}),
			named("a", placeholder.Function{Name: rv.FunctionJSONEscape}), named("a", placeholder.Function{Name: rv.FunctionLower}),
			named("a", placeholder.Function{Name: rv.FunctionURLEncode})}},
	} {
		got, err := placeholder.Parse(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.in, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	const (
		name   = "${ must be followed by a name"
		column = "${name. must be followed by the name of a column"
		pad    = "pad takes a value, a width from 1 to 1024 and"
		ratio  = "traceparent takes the share of requests that are sampled, a number from 0 to 1: traceparent(0.01)"
		res    = "resStar takes RAND and the names of K, OPc and the serving network name, without functions: resStar(rand, ue.k, ue.opc, ue.servingNetwork)"
		hxres  = "hxresStar takes RES* and the name of RAND, without functions: hxresStar(x, rand)"
		key    = "hmacSha256 takes a value and the name of its key, without functions: hmacSha256(x, key)"
	)
	for _, tc := range []struct{ in, want string }{
		{"${", "${ without }; write $${ for a literal ${"},
		{"${a", "${ without }"},
		{"${upper(a)", "${ without }"},
		{"a${}", "${} has no name; write $${} for a literal ${}"},
		{"${ a}", name},
		{"${a b}", name},
		{"${1a}", name},
		{"${a-b}", name},
		{"${a+1}", name},
		{"${" + strings.Repeat("a", 51) + "}", name},
		{"${upper()}", name},
		{"${upper(1)}", name},
		{"${a.}", column},
		{"${a.-}", column},
		{"${a." + strings.Repeat("b", 51) + "}", column},
		{"${a.b.c}", name},
		{"${reverse(a)}", `unknown function "reverse"; allowed: urlEncode, base64, base64url, jsonEscape, hexDecode, upper, lower, pad, sha256, hmacSha256, resStar, hxresStar, routingBinding, traceparent`},
		{"${URLENCODE(a)}", `unknown function "URLENCODE"`},
		{"${upper(a}", "upper takes one value: upper(x)"},
		{"${upper(a, b)}", "upper takes one value: upper(x)"},
		{"${upper(a))}", "${ has an unexpected ) or comma"},
		{"${a)}", "${ has an unexpected ) or comma"},
		{"${pad(a)}", pad},
		{"${pad(a, 0)}", pad},
		{"${pad(a, 1025)}", pad},
		{"${pad(a, x)}", pad},
		{"${pad(a, 99999999999999999999)}", pad},
		{"${pad(a, 8,)}", pad},
		{"${pad(a, 8, xy)}", pad},
		{"${pad(a, 8, \u00fc)}", pad},
		{"${pad(a, 8, \n)}", pad},
		{"${pad(a, 8, x}", pad},
		{"${pad(a, 8}", pad},
		{"${hmacSha256(a)}", key},
		{"${hmacSha256(a, )}", key},
		{"${hmacSha256(a, upper(b))}", key},
		{"${hmacSha256(a, b, c)}", key},
		{"${resStar(a)}", res},
		{"${resStar(a, b, c)}", res},
		{"${resStar(a, b, c, d, e)}", res},
		{"${resStar(a, b, upper(c), d)}", res},
		{"${hxresStar(a, b, c)}", hxres},
		{"${traceparent()}", ratio},
		{"${traceparent(a)}", ratio},
		{"${traceparent(1.1)}", ratio},
		{"${traceparent(-1)}", ratio},
		{"${traceparent(NaN)}", ratio},
		{"${traceparent(0.5, 1)}", ratio},
		{"${traceparent(0.5}", ratio},
		{"${hmacSha256(a, traceparent(1))}", key},
		{"${" + strings.Repeat("upper(", 8) + "traceparent(1)" + strings.Repeat(")", 8) + "}", "at most 8 nested functions"},
		{"${" + strings.Repeat("upper(", 9) + "a" + strings.Repeat(")", 9) + "}", "at most 8 nested functions"},
		{"${" + strings.Repeat("upper(", 100_000), "${ without }"},
		{"${" + strings.Repeat("upper(", 100_000) + "}", "at most 8 nested functions"},
	} {
		got, err := placeholder.Parse(tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40q gives %v, %v, want %q", tc.in, got, err, tc.want)
		}
	}
}

// FuzzParse: what comes out, put together again, is what went in.
func FuzzParse(f *testing.F) {
	f.Add("a${b}$$c$d")
	f.Add("${a}${")
	f.Add("${pad(hmacSha256(a.b, c.d), 7, })}")
	f.Add("${pad(upper(a) ,7 , )}")
	f.Add("${upper(traceparent( 0.01 ))}")
	f.Add("${hxresStar(resStar(rand, ue.k ,ue.opc, net), rand)}")
	f.Fuzz(func(t *testing.T, s string) {
		pieces, err := placeholder.Parse(s)
		if err != nil {
			return
		}
		var again strings.Builder
		for i, p := range pieces {
			if (p.Literal == "") == (p.Ref == nil) || i > 0 && p.Ref == nil && pieces[i-1].Ref == nil {
				t.Fatalf("piece %d is %+v", i, p)
			}
			if p.Ref != nil {
				again.WriteString("${" + written(p.Ref) + "}")
				continue
			}
			again.WriteString(strings.ReplaceAll(p.Literal, "$", "$$"))
		}
		back, err := placeholder.Parse(again.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", s, again.String(), err)
		}
		if diff := cmp.Diff(pieces, back); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	})
}

func written(r *placeholder.Reference) string {
	out := r.Name
	if r.Column != "" {
		out += "." + r.Column
	}
	for _, f := range r.Functions {
		switch f.Name {
		case rv.FunctionPad:
			out = fmt.Sprintf("pad(%s,%d,%s)", out, f.Width, f.Fill)
		case rv.FunctionRESStar:
			out = fmt.Sprintf("resStar(%s,%s,%s,%s)", out, written(f.Arguments[0]), written(f.Arguments[1]), written(f.Arguments[2]))
		case rv.FunctionHXRESStar:
			out = fmt.Sprintf("hxresStar(%s,%s)", out, written(f.Arguments[0]))
		case rv.FunctionHMACSHA256:
			out = fmt.Sprintf("hmacSha256(%s,%s)", out, written(f.Key))
		default:
			out = fmt.Sprintf("%s(%s)", f.Name, out)
		}
	}
	return out
}
