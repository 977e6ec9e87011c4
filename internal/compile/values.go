package compile

import (
	"encoding/json"
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// known is a possible value of a variable. Messages name it by its number, because the value can be secret.
type known struct {
	value, what string
	number      int // -1: what says all
}

func (k *known) name() string {
	if k.number < 0 {
		return k.what
	}
	return fmt.Sprintf("%s %d", k.what, k.number)
}

func numbered(what string, values []string) []known {
	out := make([]known, len(values))
	for i, v := range values {
		out[i] = known{v, what + " number", i}
	}
	return out
}

// known lists the values of variable i, or of one of its columns, as far as they are known without a runner. Values of
// digits, letters and hyphens are allowed everywhere and not listed.
func (c *compiler) known(i int, column string) []known {
	v := &c.plan.Variables[i]
	switch {
	case v.List != nil:
		return numbered("value", v.List)
	case v.PerShard != nil:
		return numbered("value", v.PerShard)
	case v.CSV != nil, v.Subscribers != nil:
		return c.tables[i].known(column)
	case v.Random != nil:
		return knownRandom(v.Random)
	case v.Timestamp != nil && (v.Timestamp.Format == rv.TimeIMFFixdate || v.Timestamp.Format == rv.TimeIMFFixdateMilli):
		return []known{{"Fri, 02 Jan 2026 15:04:05 GMT", "format", -1}}
	case v.Timestamp != nil && v.Timestamp.Format == rv.TimeRFC3339:
		return []known{{"2026-01-02T15:04:05Z", "format", -1}}
	case v.Timestamp != nil && v.Timestamp.Format == rv.TimeRFC3339Milli:
		return []known{{"2026-01-02T15:04:05.000Z", "format", -1}}
	case v.Env != nil && v.Env.Default != nil:
		return []known{{*v.Env.Default, "default", -1}}
	case v.Constant != nil && v.Constant.File == "" && v.Constant.Env == "":
		return []known{{v.Constant.Text, "value", -1}}
	}
	return nil
}

func knownRandom(r *rv.Random) []known {
	if r.String != nil {
		return []known{{r.String.Alphabet, "alphabet", -1}}
	}
	values := make([]string, len(r.Choice))
	for i, choice := range r.Choice {
		values[i] = choice.Value
	}
	return numbered("choice", values)
}

// applied returns a text that has each kind of character that the functions can return for a value.
func applied(functions []syntax.Function, value string) string {
	for _, f := range functions {
		switch f.Name {
		case rv.FunctionURLEncode:
			value = "%2F-._~"
		case rv.FunctionBase64:
			value = "A+/="
		case rv.FunctionBase64URL:
			value = "A-_"
		case rv.FunctionHexDecode:
			value = string(octet.AppendHexDecoded(nil, []byte(value)))
		case rv.FunctionSHA256, rv.FunctionHMACSHA256, rv.FunctionRESStar, rv.FunctionHXRESStar:
			value = "0a"
		case rv.FunctionJSONEscape:
			quoted, _ := json.Marshal(value) // strings always can
			value = string(quoted[1 : len(quoted)-1])
		case rv.FunctionPad:
			if len(value) < f.Width {
				value = f.Fill + value
			}
		}
	}
	return value
}
