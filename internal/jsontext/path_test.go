package jsontext

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// store is the example of RFC 9535 1.5.
const store = `{ "store": {
  "book": [
    { "category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95 },
    { "category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99 },
    { "category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99 },
    { "category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8", "price": 22.99 }
  ],
  "bicycle": { "color": "red", "price": 399 }
} }`

func TestPath(t *testing.T) {
	for _, tt := range []struct {
		path, doc, want string
		none            bool
	}{
		{path: "$.store.book[*].author", want: "Nigel Rees"},
		{path: "$..author", want: "Nigel Rees"},
		{path: "$.store.bicycle.*", want: "red"},
		{path: "$.store..price", want: "8.95"},
		{path: "$..book[2].author", want: "Herman Melville"},
		{path: "$..book[2].publisher", none: true},
		{path: "$..book[-1].title", want: "The Lord of the Rings"},
		{path: "$..book[3,1].title", want: "The Lord of the Rings"},
		{path: "$..book[:2].title", want: "Sayings of the Century"},
		{path: "$..book[1:2].title", want: "Sword of Honour"},
		{path: "$..book[-2:].title", want: "Moby Dick"},
		{path: "$..book[::-1].title", want: "The Lord of the Rings"},
		{path: "$..book[?@.isbn].title", want: "Moby Dick"},
		{path: "$..book[?@.price<10].title", want: "Sayings of the Century"},
		{path: "$..book[?@.price>10 && @.isbn].title", want: "The Lord of the Rings"},
		{path: "$..book[?!@.isbn && @.category=='fiction'].title", want: "Sword of Honour"},
		{path: "$..book[?@.author=='none' || @.price==8.99].title", want: "Moby Dick"},
		{path: `$["store"]['book'][?(@['price'] >= 22.99)]["title"]`, want: "The Lord of the Rings"},
		{path: "$.store.book[?match(@.author, 'J.*')].title", want: "The Lord of the Rings"},
		{path: "$.store.book[?search(@.author, 'Mel')].title", want: "Moby Dick"},
		{path: "$.store.book[?match(@.author, 'Mel')].title", none: true},
		{path: "$.store.book[?length(@.title) == 9].author", want: "Herman Melville"},
		{path: "$.store[?count(@.*) == 2].color", want: "red"},
		{path: "$.store[?value(@..color) == 'red'].price", want: "399"},
		{path: "$.store.book[?@.price == $.store.book[1].price].title", want: "Sword of Honour"},
		{path: "$.store.book[?@.price != 8.95].title", want: "Sword of Honour"},
		{path: "$.store.book[?!(@.price < 12)].title", want: "Sword of Honour"},
		{path: "$", doc: ` [1] `, want: "[1]"},
		{path: "$[0]", doc: `["a\nb"]`, want: "a\nb"},
		{path: "$['a\\u00e9\\'b']", doc: `{"a\u00e9'b":1}`, want: "1"},
		{path: "$.é", doc: `{"\u00e9":1}`, want: "1"},
		{path: "$.a", doc: `{"a":1,"a":2}`, want: "1"},
		{path: "$[?@ == null]", doc: `[1,null]`, want: "null"},
		{path: "$[?@.a == @.b]", doc: `[{"a":1},{"x":1}]`, want: `{"x":1}`},
		{path: "$[?@.a == @.b]", doc: `[{"a":[1,{"c":2}],"b":[1,{"c":3}]},{"a":{"c":2,"d":[]},"b":{"d":[],"c":2}}]`, want: `{"a":{"c":2,"d":[]},"b":{"d":[],"c":2}}`},
		{path: "$[?@ > 'b']", doc: `["a","b\u0000","c"]`, want: "b\x00"},
		{path: "$[?@ == 1]", doc: `[true,"1",1.0]`, want: "1.0"},
		{path: "$[?@ <= -1e2]", doc: `[-99.9,-100]`, want: "-100"},
		{path: "$[?@.x == 'a\"b']", doc: `[{"x":"a\"b"}]`, want: `{"x":"a\"b"}`},
		{path: "$[-1]", doc: `[]`, none: true},
		{path: "$[-3]", doc: `[1,2]`, none: true},
		{path: "$[0]", doc: `{"0":1}`, none: true},
		{path: "$.a", doc: `[1]`, none: true},
		{path: "$[::0]", doc: `[1]`, none: true},
		{path: "$[5:1:-2]", doc: `[0,1,2,3,4,5,6]`, want: "5"},
		{path: "$[*].a[*]", doc: `[{"a":[]},{"b":1},{"a":[7]}]`, want: "7"},
		{path: "$.a", doc: `{"a":1} x`, none: true},
		{path: "$.a", doc: `{"a":1`, none: true},
		{path: "$..[?@.k=='v'].n", doc: `{"map":{"id-1":{"k":"w","n":1},"id-2":{"k":"v","n":2}}}`, want: "2"},
		{path: "$ .a [ 'b' , 0 ] ", doc: `{}`, none: true},
	} {
		p, err := ParsePath(strings.TrimRight(tt.path, " "))
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		doc := tt.doc
		if doc == "" {
			doc = store
		}
		got, ok := p.Find(nil, []byte(doc))
		if ok == tt.none || string(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.path, got, ok, tt.want)
		}
	}
}

func TestPathErrors(t *testing.T) {
	for path, want := range map[string]string{
		"":                    "position 1: a path begins with $",
		"nfInstances[0]":      "position 1: a path begins with $",
		" $":                  "position 1: a path begins with $",
		"$ ":                  `position 2: unexpected " "`,
		"$.":                  "position 3: a name, * or [ is missing",
		"$..":                 "position 4: a name, * or [ is missing",
		"$.a b":               `position 4: unexpected " "`,
		"$[":                  "position 3: a selector is missing",
		"$[]":                 "position 3: a selector is missing",
		"$['a'":               "position 6: , or ] is missing",
		"$['a":                "position 3: the closing ' is missing",
		`$['\x']`:             "position 4: is not an escape sequence",
		`$["\ud800"]`:         "position 4: is not an escape sequence",
		"$[01]":               "position 3: an integer without leading zeros is missing",
		"$[-0]":               "position 3: an integer without leading zeros is missing",
		"$[9007199254740992]": "position 3: an integer without leading zeros is missing",
		"$[1:2:3:4]":          "position 8: , or ] is missing",
		"$[?]":                "position 4: a value is missing",
		"$[?@.a=='UDM]":       "position 9: the closing ' is missing",
		"$[?@.a=1]":           "position 7: , or ] is missing",
		"$[?@.*==1]":          "position 4: a query that can select several nodes cannot be compared",
		"$[?1]":               "position 5: a comparison is missing",
		"$[?length(@.a)]":     "position 15: a comparison is missing",
		"$[?length(@.*)>1]":   "position 11: the argument of length must select one node",
		"$[?foo(@)]":          "position 4: there is no function foo; allowed: length, count, value, match, search",
		"$[?match(@.a, '(')]": "position 15: is not a regular expression",
		"$[?match(@.a, @.b)]": "position 15: the pattern of match must be a text in quotes",
		"$[?(@.a]":            "position 8: ) is missing",
		"$[?!@.a==1]":         "position 5: ( is missing",
		"$[?@.a==1 &&]":       "position 13: a value is missing",
		"$\xff":               "position 1: is not UTF-8",
		"$[?" + strings.Repeat("(", 40) + "@" + strings.Repeat(")", 40) + "]": "nested more than 32 deep",
	} {
		_, err := ParsePath(path)
		var mistake *PathError
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
		if checked := CheckPath(path); checked == nil || checked.Error() != err.Error() {
			t.Errorf("%s: checked: %v, want %v", path, checked, err)
		}
	}
}

// TestPathOfInvalidDocuments: a mistake before, in or after the value hides the value, wherever it is.
func TestPathOfInvalidDocuments(t *testing.T) {
	const doc = `{"a": [1, {"b": [2, "x"], "c": {"d": true}}, -3.5e1], "e": {"f": null}}`
	for _, path := range []string{"$", "$.a", "$.a[1]", "$.a[?@.b].c.d", "$..b[1]", "$.a[-2].b[::-1]", "$.a[1]['c','b']", "$[?$.a[1].c.d==true][0]", "$..*"} {
		p, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.Raw([]byte(doc)); !ok {
			t.Errorf("%s selects nothing", path)
		}
		for i, c := range []byte(doc) {
			for _, bad := range []string{doc[:i] + doc[i+1:], doc[:i], doc[:i] + "]" + doc[i:], doc[:i] + "," + doc[i:], doc[:i] + `"` + doc[i+1:]} {
				if raw, ok := p.Raw([]byte(bad)); ok && !json.Valid([]byte(bad)) {
					t.Errorf("%s on %s, which is not valid at %d (%c): %s", path, bad, i, c, raw)
				}
			}
		}
	}
	deep := strings.Repeat(`[`, maxDepth-1) + `[]` + strings.Repeat(`]`, maxDepth-1)
	for _, path := range []string{"$[0]", "$..*", "$[?@[0]]", "$[?@[0][0]]", "$[?$[0][0]]"} {
		p, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.Raw([]byte(deep)); !ok {
			t.Errorf("%s selects nothing in %d arrays", path, maxDepth)
		}
		if raw, ok := p.Raw([]byte("[" + deep + "]")); ok {
			t.Errorf("%s selects %s in %d arrays", path, raw, maxDepth+1)
		}
	}
}

// TestPathIsBounded: no path and no document make a search read more than a multiple of the document.
func TestPathIsBounded(t *testing.T) {
	deep := strings.Repeat("[", 500) + `"` + strings.Repeat("x", 1<<17) + `"` + strings.Repeat("]", 500)
	wide := "[" + strings.Repeat("[1,2,3,4,5,6,7,8],", 1<<13) + "0]"
	for _, path := range []string{"$..*", "$..none", "$..*..*..none", "$..[?count(@..x)==1]", "$..[?count($..*)>1e9]", "$[::-1].a", "$..[?@==$]", "$..[?search(@,'yy')]"} {
		p, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range []string{deep, wide} {
			s := search{doc: []byte(doc), left: pathWork * len(doc)}
			h := hits{most: 1}
			s.visit(0, p.segments, &h)
			if used := pathWork*len(doc) - s.left; used > 2*pathWork*len(doc) {
				t.Errorf("%s read %d octets of %d", path, used, len(doc))
			}
			if value, ok := p.Raw([]byte(doc)); ok && s.left < 0 {
				t.Errorf("%s found %d octets beyond its bound", path, len(value))
			}
		}
	}
}
