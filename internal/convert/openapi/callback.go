package openapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/lazy"
)

// listenerName is the listener that all callbacks use.
const listenerName = "callbacks"

// callback is a request of the service to a URI that a value of a request body contains.
type callback struct {
	name string
	// pointer is the place of the value in the body, as a JSON Pointer.
	pointer string
	// suffix is what the service adds to the URI, such as /update.
	suffix string
	// rare: the service calls back only after a failure.
	rare bool
}

// failures matches names of callbacks after a failure, such as onN1N2TransferFailure (TS 29.518).
var failures = lazy.Regexp(`(?i)fail|error`)

// inBody is a runtime expression for a value of the request body. Several documents of 3GPP leave out the dollar sign,
// such as Nudm_SDM of TS 29.503.
var inBody = lazy.Regexp(`^\{?\$?request\.body#(/[^{}]*)\}?([^{}?#]*)$`)

// callbacks returns the callbacks of an operation whose URI is a value of its body, those after a failure last.
func (c *converter) callbacks(op *operation) (out []callback) {
	list := op.in.raw("callbacks")
	for _, name := range list.names() {
		one, _ := c.follow(list.raw(name))
		for _, expression := range one.names() {
			m := inBody().FindStringSubmatch(expression)
			if m == nil {
				c.Warn(place(op.method, op.path), "the callback %s is left out, because its URI is not a value of the request body",
					name)
				continue
			}
			out = append(out, callback{name, m[1], convert.EscapePath(m[2]), failures().MatchString(name)})
		}
	}
	slices.SortStableFunc(out, func(a, b callback) int {
		switch {
		case a.rare == b.rare:
			return 0
		case b.rare:
			return -1
		}
		return 1
	})
	return out
}

// wanted has the members of a body on the way to the URI of the callback that a step awaits: they are made although
// they are optional.
func wanted(callbacks []callback) map[string]bool {
	out := map[string]bool{}
	if len(callbacks) > 0 && !callbacks[0].rare {
		want(out, callbacks[0].pointer)
	}
	return out
}

// want adds a pointer and all pointers to what the value is in.
func want(set map[string]bool, pointer string) {
	for at := pointer; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
		set[at] = true
	}
}

// listen replaces the URIs of callbacks in a body by markers of the URL of the listener. The step after the operation
// awaits the first callback; the service can send the other ones, too.
func (c *converter) listen(op *operation, at string, body json.RawMessage, m *markers) json.RawMessage {
	from := place(op.method, op.path)
	uris := map[string]string{}
	for _, cb := range op.callbacks {
		if _, has := uris[cb.pointer]; !has {
			marker := m.next()
			replaced := replace(body, cb.pointer, quote(marker))
			if replaced == nil {
				c.WarnAt(at, from, "the callback %s is left out, because the body has no value at %s", cb.name, cb.pointer)
				continue
			}
			body = replaced
			uris[cb.pointer] = c.callbackPath(cb.name)
			m.replace(marker, `"${listener.`+listenerName+`.url}`+convert.Literal(uris[cb.pointer])+c.instance()+`"`)
		}
		if op.await != nil || cb.rare {
			c.WarnAt(at, from, "no step awaits the callback %s", cb.name)
			continue
		}
		name := c.Unique("template", convert.DashName(dashed(cb.name))) // differs from the operation's, which is a step, too
		path := convert.Literal(uris[cb.pointer]) + c.instance() + convert.Literal(cb.suffix)
		op.await = &v1alpha1.Step{
			Name: name, OnFailure: v1alpha1.FailureContinue,
			Await: &v1alpha1.Await{Listener: listenerName, Match: v1alpha1.NotificationMatch{Path: path}},
		}
		c.WarnAt(at, from, "the step %s awaits the callback %s after each request; remove it if the service does not always call back", name, cb.name)
	}
	return body
}

// callbackPath returns the constant begin of the path of a callback. It differs from those of all other callbacks.
func (c *converter) callbackPath(name string) string {
	return "/" + c.Unique("callback-path", convert.DashName(dashed(name))) + "/"
}

// instance returns the placeholder that differs between chain instances. The first call adds the listener and the
// variable.
func (c *converter) instance() string {
	if c.callback == "" {
		c.callback = c.Unique("variable", "callback")
		c.Spec().Variables = append(c.Spec().Variables, v1alpha1.Variable{Name: c.callback,
			Counter: &v1alpha1.Counter{Start: 1, Step: 1}})
		c.Spec().Listeners = []v1alpha1.Listener{{Name: listenerName}}
	}
	return "${" + c.callback + "}"
}

// replace returns a JSON value with another value at a pointer, or nil if there is no value at the pointer.
func replace(v json.RawMessage, pointer string, with json.RawMessage) json.RawMessage {
	if pointer == "" {
		return with
	}
	step, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	if items, is := itemsOf(v); is {
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(items) {
			return nil
		}
		items[i] = replace(items[i], rest, with)
		return list(items)
	}
	members, _ := membersOf(v)
	for i := range members {
		if members[i].name == unescapePointer(step) {
			members[i].value = replace(members[i].value, rest, with)
			return join(members)
		}
	}
	return nil
}

func unescapePointer(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
}

func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// markers are texts in place of values that are placeholders later. They have no character that JSON or a text of a
// request escapes.
type markers struct {
	count int
	pairs []string
}

// next returns a marker.
func (m *markers) next() string {
	m.count++
	return "h2surge-marker-" + strconv.Itoa(m.count) + "-"
}

// replace sets the JSON text in place of a marker with its quotes.
func (m *markers) replace(marker, with string) { m.pairs = append(m.pairs, `"`+marker+`"`, with) }

// has reports whether a value is a marker.
func (m *markers) has(value json.RawMessage) bool {
	for i := 0; i < len(m.pairs); i += 2 {
		if m.pairs[i] == string(value) {
			return true
		}
	}
	return false
}

// text returns a text with placeholders: the markers are replaced in a text that has been escaped.
func (m *markers) text(literal string) string {
	return strings.NewReplacer(m.pairs...).Replace(literal)
}
