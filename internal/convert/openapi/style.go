package openapi

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strings"
)

// separators are those of the styles that have another one than a comma between their parts.
var separators = map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}

// styleOf returns the style that a parameter, or a property of a form, has. Only form is exploded by default.
func styleOf(p value, standard string) (style string, explode bool) {
	style = cmp.Or(p.raw("style").text(), standard)
	explode = style == "form"
	if given := p.raw("explode"); given.is() {
		explode = given.yes()
	}
	return style, explode
}

// content is the text of a parameter that has a content, in its media type: JSON, or a string as it stands.
func content(p value, v json.RawMessage) (text string, has bool) {
	kinds := p.raw("content").names()
	if len(kinds) == 0 {
		return "", false
	}
	if isJSON(kinds[0]) {
		return string(v), true
	}
	return plainText(v), true
}

// pairs are a parameter of a query, cookies or a property of a form. encode is done to each name and value.
func pairs(p value, name string, v json.RawMessage, encode func(string) string) (out []string) {
	if text, has := content(p, v); has {
		return []string{encode(name) + "=" + encode(text)}
	}
	style, explode := styleOf(p, "form")
	members, isObject := membersOf(v)
	_, isArray := itemsOf(v)
	texts := parts(v, explode, encode)
	switch {
	case isObject && style == "deepObject":
		for _, m := range members {
			out = append(out, encode(name+"["+m.name+"]")+"="+encode(plainText(m.value)))
		}
		return out
	case isObject && explode:
		return texts
	case isArray && explode:
		for _, text := range texts {
			out = append(out, encode(name)+"="+text)
		}
		return out
	}
	return []string{encode(name) + "=" + strings.Join(texts, cmp.Or(separators[style], ","))}
}

// simple is a parameter of a path or a header field, in the style of RFC 6570 3.2.2, unless it has a content.
func simple(p value, v json.RawMessage, encode func(string) string) string {
	if text, has := content(p, v); has {
		return encode(text)
	}
	_, explode := styleOf(p, "simple")
	return strings.Join(parts(v, explode, encode), ",")
}

// parts are the items of an array, the names and values of an object, or the only value. An exploded object has both
// in one part.
func parts(v json.RawMessage, explode bool, encode func(string) string) (out []string) {
	if items, isArray := itemsOf(v); isArray {
		for _, item := range items {
			out = append(out, encode(plainText(item)))
		}
		return out
	}
	members, isObject := membersOf(v)
	if !isObject {
		return []string{encode(plainText(v))}
	}
	for _, m := range members {
		if name, text := encode(m.name), encode(plainText(m.value)); explode {
			out = append(out, name+"="+text)
		} else {
			out = append(out, name, text)
		}
	}
	return out
}

// form is application/x-www-form-urlencoded of an object.
func form(object json.RawMessage, encoding value) []byte {
	var out []string
	members, _ := membersOf(object)
	for _, m := range members {
		in := encoding.raw(m.name)
		if inJSON(in, m.value) {
			out = append(out, url.QueryEscape(m.name)+"="+url.QueryEscape(string(m.value)))
			continue
		}
		out = append(out, pairs(in, m.name, m.value, url.QueryEscape)...)
	}
	return []byte(strings.Join(out, "&"))
}

// inJSON: a property of a form is JSON if it is an object or has such a contentType. The contentType has no effect
// beside style, explode and allowReserved, not even that which an object has by default.
func inJSON(encoding value, v json.RawMessage) bool {
	for _, name := range []string{"style", "explode", "allowReserved"} {
		if encoding.raw(name).is() {
			return false
		}
	}
	_, isObject := membersOf(v)
	return isObject || isJSON(encoding.raw("contentType").text())
}
