package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/multipart"
)

const notifying = `
rules:
- name: subscribe
  match: {method: POST, path: /subscriptions}
  resource: {collection: subscriptions, action: create, id: "${json:/id}"}
  notify:
  - name: created
    uri: "${json:/notifyUri}/x"
    headers: [{name: h, value: "${request.header.h}"}]
    body: '{"id":"${state.id}","wants":${state:/wants},"n":${counter}}'
    delay: {fixed: 5ms}
- name: register
  match: {method: PUT, path: "/instances/{id}"}
  resource: {collection: instances, action: put, id: "${path.id}"}
  notify:
  - name: registered
    method: PUT
    uri: "${each:/notifyUri}"
    headers: [{name: content-type, value: text/plain}]
    body: '${each.id} ${path.id} ${state:/type} ${each.document}'
    forEach: {collection: subscriptions, where: [{jsonPointer: /wants/type, equals: "${json:/type}"}]}
- name: delete
  match: {method: DELETE, path: "/subscriptions/{id}"}
  resource: {collection: subscriptions, action: delete, id: "${path.id}"}
  notify: [{uri: "${state:/notifyUri}"}]
- name: refuse
  match: {path: /refuse}
  responses: [{problem: {status: 403}}]
  notify: [{uri: http://a}]
- name: silent
  match: {path: /silent}
  responses: [{unanswered: 1}]
  notify: [{uri: http://a}]
`

// notified answers requests and returns the notifications of the last one.
func notified(e *Engine, requests ...string) []Notification {
	c := &Call{}
	for _, text := range requests {
		c = request(text)
		e.Answer(c, clock)
	}
	return c.Notifications
}

func TestNotify(t *testing.T) {
	subscribe := func(id, kind string) string {
		return fmt.Sprintf("POST /subscriptions\nh: v%[1]s\n\n"+`{"id":%[1]q,"notifyUri":"http://c/%[1]s","wants":{"type":%[2]q}}`, id, kind)
	}
	jsonType := NotificationField{"content-type", "application/json"}
	for _, c := range []struct {
		name     string
		requests []string
		want     []Notification
	}{
		{"values of the request and of the stored document", []string{subscribe("1", "AMF")}, []Notification{{
			Method: "POST", URI: "http://c/1/x", Fields: []NotificationField{{"h", "v1"}, jsonType},
			Body: []byte(`{"id":"1","wants":{"type":"AMF"},"n":1}`), Delay: 5 * time.Millisecond, Copies: 1,
		}}},
		{"each document that matches", []string{subscribe("1", "AMF"), subscribe("2", "SMF"), subscribe("3", "AMF"), "PUT /instances/x\n\n" + `{"type":"AMF"}`},
			[]Notification{
				{Number: 1, Method: "PUT", URI: "http://c/1", Fields: []NotificationField{{"content-type", "text/plain"}},
					Body: []byte(`1 x AMF {"id":"1","notifyUri":"http://c/1","wants":{"type":"AMF"}}`), Copies: 1},
				{Number: 1, Method: "PUT", URI: "http://c/3", Fields: []NotificationField{{"content-type", "text/plain"}},
					Body: []byte(`3 x AMF {"id":"3","notifyUri":"http://c/3","wants":{"type":"AMF"}}`), Copies: 1},
			}},
		{"no document matches", []string{subscribe("1", "AMF"), "PUT /instances/x\n\n" + `{"type":"UDM"}`}, nil},
		{"the deleted document", []string{subscribe("1", "AMF"), "DELETE /subscriptions/1"}, []Notification{{
			Number: 2, Method: "POST", URI: "http://c/1", Copies: 1,
		}}},
		{"a document that does not exist", []string{"DELETE /subscriptions/1"}, nil},
		{"an existing document", []string{subscribe("1", "AMF"), subscribe("1", "AMF")}, nil},
		{"a problem", []string{"GET /refuse"}, nil},
		{"no answer", []string{"GET /silent"}, nil},
		{"no URI", []string{"POST /subscriptions\n\n" + `{"id":"1"}`}, []Notification{{Problem: `uri: "/x" is not an absolute http or https URI`}}},
		{"another scheme", []string{"POST /subscriptions\n\n" + `{"id":"1","notifyUri":"file://a"}`}, []Notification{{Problem: `uri: "file://a/x" is not an absolute http or https URI`}}},
		{"a bad field", []string{"POST /subscriptions\nh: a\x01b\n\n" + `{"id":"1","notifyUri":"http://a"}`}, []Notification{{Problem: badValue("h")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, notified(engine(t, notifying), c.requests...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNotifyWhere(t *testing.T) {
	const documents = "1 {}; 2 {\"a\":\"x\"}; 3 {\"a\":[\"x\",\"y\"]}; 4 {\"a\":\"y\"}"
	for _, c := range []struct{ where, want string }{
		{"", "1234"},
		{"{jsonPointer: /a, equals: x}", "2"},
		{"{jsonPointer: /a, equals: x, orAbsent: true}", "12"},
		{"{jsonPointer: /a, contains: x}", "23"},
		{"{jsonPointer: /a, contains: '\"${query.q}\"', orAbsent: true}", "13"},
		{"{jsonPointer: /a, equals: '${query.none}'}", "1234"},
		{"{jsonPointer: /a, contains: x}, {jsonPointer: /a, contains: y}", "3"},
	} {
		e := engine(t, fmt.Sprintf(`
rules:
- {name: put, match: {method: PUT, path: "/{id}"}, resource: {collection: c, action: put, id: "${path.id}"}}
- {name: get, match: {method: GET}, responses: [{}], notify: [{uri: "http://${each.id}", forEach: {collection: c, where: [%s]}}]}
`, c.where))
		for document := range strings.SplitSeq(documents, "; ") {
			id, content, _ := strings.Cut(document, " ")
			notified(e, "PUT /"+id+"\n\n"+content)
		}
		got := ""
		for _, n := range notified(e, "GET /?q=x") {
			got += strings.TrimPrefix(n.URI, "http://")
		}
		if got != c.want {
			t.Errorf("[%s] selects %s, want %s", c.where, got, c.want)
		}
	}
}

func TestNotifyParts(t *testing.T) {
	n := notified(engine(t, `
rules:
- name: r
  responses: [{}]
  notify:
  - uri: http://a
    parts:
    - {contentType: application/json, body: '{"a":"${query.a}"}'}
    - {contentType: application/vnd.3gpp.ngap, contentID: n2, bodyHex: "00 04"}
`), "GET /?a=%22")[0]
	r, err := multipart.NewReader([]byte(n.Fields[0].Value), n.Body)
	if err != nil || n.Fields[0].Name != "content-type" {
		t.Fatalf("%+v: %v", n, err)
	}
	var got []string
	for {
		p, more, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		got = append(got, fmt.Sprintf("%s %q", p.MediaType(), p.Body))
	}
	want := []string{`application/json "{\"a\":\"\\\"\"}"`, `application/vnd.3gpp.ngap "\x00\x04"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNotifyCopies(t *testing.T) {
	const rules = "\nrules:\n- {name: r, responses: [{}], notify: [{uri: http://a, unsent: 25%, sentTwice: 0.5}]}\n"
	e, count := engine(t, rules), [3]int{}
	const n = 4000
	for range n {
		count[notified(e, "GET /")[0].Copies]++
	}
	for copies, want := range [3]float64{0.25, 0.25, 0.5} {
		if got := float64(count[copies]) / n; got < want-0.05 || got > want+0.05 {
			t.Errorf("%v of the notifications have %d copies, want %v", got, copies, want)
		}
	}
}

func TestNotifyLimits(t *testing.T) {
	const rules = `
rules:
- {name: add, match: {method: POST}, resource: {collection: c, action: create}}
- {name: two, match: {path: /two}, responses: [{}], notify: [{uri: http://a, forEach: {collection: c, limit: 2}}]}
- {name: large, match: {path: /large}, responses: [{}], notify: [{uri: http://a, body: "${request.body}", forEach: {collection: c}}]}
`
	e := engine(t, rules)
	for range 30 {
		notified(e, "POST /")
	}
	two := notified(e, "GET /two")
	if len(two) != 3 || two[1].Problem != "" || !strings.Contains(two[2].Problem, "limit of 2") {
		t.Errorf("%+v", two)
	}
	large := notified(e, "GET /large\n\n"+strings.Repeat("x", 1<<20))
	if n := len(large); n < 16 || n > 18 || large[n-1].Problem == "" {
		t.Errorf("%d notifications, the last with the problem %q", n, large[n-1].Problem)
	}
}

// TestNotifyChangesNothing: the same seed gives the same answers, with and without notifications whose copies are not drawn.
func TestNotifyChangesNothing(t *testing.T) {
	const rules = "\nrules:\n- {name: r, responses: [{body: '${random.hex(8)}'}]"
	with, without := engine(t, rules+", notify: [{uri: http://a}]}\n"), engine(t, rules+"}\n")
	for range 10 {
		if got, want := ask(t, with, "GET /"), ask(t, without, "GET /"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
