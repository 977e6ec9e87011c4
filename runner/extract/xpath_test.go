package extract

import (
	"strings"
	"sync"
	"testing"
)

const soap = `<?xml version="1.0" encoding="UTF-8"?>
<!-- first -->
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
  <soap:Body>
    <Result xmlns="urn:example" code="7"><Item n="1">one</Item><Item n="2">t<b>w</b><!-- no -->o</Item><Price>10.50</Price></Result>
    <c>a<![CDATA[<b>&]]>c &amp; d</c><empty/>
  </soap:Body>
</soap:Envelope>`

func xpathValue(t *testing.T, expression, document string) string {
	t.Helper()
	e, err := newXPath(expression)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := e.value([]byte("kept"), []byte(document))
	if !ok {
		return none
	}
	return string(got)
}

func TestXPath(t *testing.T) {
	for _, tc := range []struct{ name, expression, want string }{
		{"first of several", "//Item", "one"},
		{"second", "//Item[2]", "two"},
		{"last", "//Item[last()]", "two"},
		{"attribute", "//Result/@code", "7"},
		{"by an attribute", "//Item[@n='2']", "two"},
		{"text of an element with others", "//Item[2]/text()", "t"},
		{"comment", "//Item[2]/comment()", " no "},
		{"prefix of the document", "/soap:Envelope/soap:Body/Result/Price", "10.50"},
		{"no prefix", "/Envelope", none},
		{"local name", "//*[local-name()='Body']/*[local-name()='Result']/@code", "7"},
		{"namespace", "//*[namespace-uri()='urn:example' and local-name()='Price']", "10.50"},
		{"CDATA", "//c", "a<b>&c & d"},
		{"CDATA is text", "//c/text()", "a<b>&c & d"},
		{"CDATA in a function", "string-length(//c/text())", "10"},
		{"empty element", "//empty", ""},
		{"nothing", "//none", none},
		{"string", "string(//Item[2])", "two"},
		{"string of nothing", "string(//none)", ""},
		{"concat", "concat(//Item[1], '-', //Result/@code)", "one-7"},
		{"count", "count(//Item)", "2"},
		{"number", "number(//Price)", "10.5"},
		{"sum", "sum(//Item/@n)", "3"},
		{"not a number", "number(//Item[1])", "NaN"},
		{"division", "1 div 0", "Infinity"},
		{"negative infinity", "-1 div 0", "-Infinity"},
		{"large", "1000000 * 1000000 * 1000000 * 1000000", "1000000000000000000000000"},
		{"small", "1 div 8", "0.125"},
		{"boolean", "count(//Item) = 2", "true"},
		{"boolean function", "boolean(//none)", "false"},
		{"root", "normalize-space(/)", "onetwo10.50 a<b>&c & d"},
		{"context is the root", "contains(., 'two')", "true"},
		{"namespaces are no attributes", "//Result/@*", "7"},
		{"prefixed namespaces neither", "/*/@*", none},
		{"nearest ancestor", "name(//Price/ancestor::*)", "Result"},
		{"union", "//Price | //Result/@code", "10.50"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := xpathValue(t, tc.expression, soap); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestXMLTree: the tree is that of XPath 1.0 section 5.
func TestXMLTree(t *testing.T) {
	for _, tc := range []struct{ document, expression, want string }{
		{"<?xml version='1.0'?><?xml-stylesheet href='x'?><a>1</a>", "name(/*)", "a"},
		{"<?p q?><a>1<?p q?>2<b/></a>", "/a/text()", "12"},
		{"<!DOCTYPE a><a>1</a>", "/text()", none},
		{"<a>1<!-- c --><b/></a>", "count(/a/node())", "3"},
		{"<!-- c --><a>1</a>", "/*", "1"},
		{"<!-- c --> <!-- d --><a>1</a>", "/comment()[2]", " d "},
		{"<a>1</a><!-- c -->", "/comment()", " c "},
		{" \n<a>1</a>\n", "string(/a)", "1"},
		{"\ufeff<a>1</a>", "/a", "1"},
		{"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>", "/a", "ä"},
		{"<a>&lt;&#65;</a>", "/a", "<A"},
	} {
		if got := xpathValue(t, tc.expression, tc.document); got != tc.want {
			t.Errorf("%s of %q: %q, want %q", tc.expression, tc.document, got, tc.want)
		}
	}
}

func TestNotXML(t *testing.T) {
	for _, document := range []string{"", "text", "{}", "<a>", "<a></b>", "<a/><b", "<a>&none;</a>", "<a b></a>", "<!-- -->", "<a/><a/>", "<a/>x", "x<a/>"} {
		if got := xpathValue(t, "/a", document); got != none {
			t.Errorf("%q: %q", document, got)
		}
	}
}

func TestXMLBounds(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("<a>", depth) + "x" + strings.Repeat("</a>", depth) }
	const latin1 = "<?xml version='1.0' encoding='ISO-8859-1'?>"
	for _, tc := range []struct {
		name, document, want string
	}{
		{"deepest", nested(maxXMLDepth), "x"},
		{"too deep", nested(maxXMLDepth + 1), none},
		{"deepest in Latin-1", latin1 + nested(maxXMLDepth), "x"},
		{"too deep in Latin-1", latin1 + nested(maxXMLDepth+1), none},
		{"too deep after a character that is not UTF-8", latin1 + "<a>\xe4" + nested(maxXMLDepth) + "</a>", none},
		{"wide", "<a>" + strings.Repeat("<b/>", 2*maxXMLDepth) + "x</a>", "x"},
		{"too wide", "<a>" + strings.Repeat("<b/>", maxXMLMarkup) + "x</a>", none},
		{"markup in CDATA", "<a><![CDATA[" + strings.Repeat("<a>", 2*maxXMLDepth) + "]]></a>", strings.Repeat("<a>", 2*maxXMLDepth)},
	} {
		if got := xpathValue(t, "/a", tc.document); got != tc.want {
			t.Errorf("%s: %.20q", tc.name, got)
		}
	}
}

// TestXPathBudget: what is quadratic in the library ends, and what is linear has room for large documents.
func TestXPathBudget(t *testing.T) {
	siblings := func(n int) string { return "<r>" + strings.Repeat("<a>x</a>", n) + "</r>" }
	for _, tc := range []struct{ name, expression, document, want string }{
		{"last of many", "//a[last()]", siblings(20_000), none},
		{"last of few", "//a[last()]", siblings(500), "x"},
		{"string value of all for each", "//a[contains(/, 'z')]", siblings(20_000), none},
		{"one of many", "/r/a[19999]", siblings(20_000), "x"},
		{"count of many", "count(//a)", siblings(100_000), "100000"},
		{"long text", "string-length(/)", "<r>" + strings.Repeat("x", 32<<20) + "</r>", "33554432"},
		{"text cut by instructions", "string-length(/)", "<r>" + strings.Repeat("xxxxxxxxxx<?p?>", 100_000) + "</r>", none},
		{"first of many, often", "//a[../a[1] = 'z']", siblings(20_000), none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := xpathValue(t, tc.expression, tc.document); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestXPathManyTimes: an expression has no memory of the document before, and many may use it.
func TestXPathManyTimes(t *testing.T) {
	for _, expression := range []string{"//b[2]", "string(//b[2])", "concat(//b[2], '')", "//b[position()=2]"} {
		e, err := newXPath(expression)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for _, want := range []string{"2", "x", "2"} {
					if got, ok := e.value(nil, []byte("<a><b>1</b><b>"+want+"</b></a>")); !ok || string(got) != want {
						t.Errorf("%s: %q %v, want %q", expression, got, ok, want)
					}
				}
			})
		}
		all.Wait()
	}
}

// FuzzXPath: whatever expression and document come, there is no panic.
func FuzzXPath(f *testing.F) {
	f.Add("//Item[2]", soap)
	f.Add("concat(string(/a), count(//@b))", "<a b='c'><![CDATA[x]]>y</a>")
	f.Add("substring-after(., 'x') | ../a[b=1]", "<a><?p q?><b/></a>")
	f.Fuzz(func(_ *testing.T, expression, document string) {
		if e, err := newXPath(expression); err == nil {
			e.value(nil, []byte(document))
		}
	})
}

func BenchmarkXPath(b *testing.B) {
	e, err := newXPath("//*[local-name()='Result']/@code")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		e.value(nil, []byte(soap))
	}
}
