package rules

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// NotificationName names a notification of a file: its rule, and its own name, which may be empty.
type NotificationName struct {
	Rule string `json:"rule"`
	Name string `json:"name,omitempty"`
}

// Notification is a request that the target must send.
type Notification struct {
	Number int // index into Set.Notifications
	Method string
	URI    string
	Fields []NotificationField
	Body   []byte
	Delay  time.Duration // from the arrival of the request that causes it
	// Copies is how often it is sent: 0, 1 or 2.
	Copies int
	// Problem is why it cannot be sent. If it is not empty, the fields above, except Number, are not set.
	Problem string
}

// NotificationField is a header field of a Notification.
type NotificationField struct{ Name, Value string }

// Size is the memory that a notification needs, in bytes.
func (n *Notification) Size() int {
	const fixed = 256
	size := fixed + len(n.URI) + len(n.Body)
	for _, f := range n.Fields {
		size += len(f.Name) + len(f.Value)
	}
	return size
}

// notify is a compiled Notify.
type notify struct {
	number  int // index into Set.notifications
	uri     text
	method  string
	fields  []field
	body    text
	delay   distribution
	unsent  float64
	twice   float64 // cumulative: a draw x selects unsent if x < unsent, else twice if x < twice
	forEach *forEach
}

// forEach is a compiled ForEach.
type forEach struct {
	collection string
	where      []where
	limit      int
}

func (s *source) compileNotify(path string, spec *Notify, sc scope, dir string) *notify {
	n := &notify{method: http.MethodPost}
	if spec.ForEach != nil {
		n.forEach = s.compileForEach(path+".forEach", spec.ForEach, sc)
		sc.each = true
	}
	if spec.Method != "" {
		n.method = spec.Method
		if fieldNameProblem(strings.ToLower(spec.Method)) != "" {
			s.add(path+".method", "%q is not a method (RFC 9110 section 9.1)", spec.Method)
		}
	}
	s.compileURI(path+".uri", spec.URI, n, sc)
	s.compileShares(path, spec, n)
	n.delay = s.compileDelay(path+".delay", spec.Delay)
	fields, kind := s.compileFields(path, spec.Headers, notificationFieldProblem, sc)
	if kind == "" && (spec.Body != nil || spec.BodyFile != "") {
		kind = "application/json"
	}
	body, kind := s.compileContent(path, content{spec.Body, spec.BodyFile, spec.Parts}, kind, 0, sc, dir)
	n.fields = withType(fields, kind)
	if body != nil {
		n.body = *body
	}
	return n
}

func (s *source) compileForEach(path string, spec *ForEach, sc scope) *forEach {
	f := &forEach{collection: spec.Collection, limit: s.bounded(path+".limit", spec.Limit, maxListed, 1, maxListed),
		where: s.compileWhere(path, spec.Where, sc)}
	if spec.Collection == "" {
		s.add(path+".collection", "is empty")
	}
	return f
}

func (s *source) compileURI(path, uri string, n *notify, sc scope) {
	var err error
	n.uri, err = parseText(uri, sc)
	s.addAll(path, err)
	if constant, ok := n.uri.constant(); ok {
		if problem := uriProblem(constant); problem != "" {
			s.add(path, "%s", problem)
		}
	}
}

// uriProblem returns why a notification cannot be sent to a URI, or "".
func uriProblem(uri string) string {
	const shown = 200
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Sprintf("%.*q is not an absolute http or https URI", shown, uri)
	}
	return ""
}

func (s *source) compileShares(path string, spec *Notify, n *notify) {
	if spec.Unsent != nil {
		n.unsent = float64(*spec.Unsent)
	}
	n.twice = n.unsent
	if spec.SentTwice != nil {
		n.twice += float64(*spec.SentTwice)
	}
	if n.twice > 1+1e-9 {
		s.add(path, "unsent and sentTwice: their sum is above 1")
	}
}

// maxNotified bounds the memory for the notifications of one request, in bytes.
const maxNotified = 16 << 20

// notify adds the notifications that a request causes.
func (e *Engine) notify(c *Call, r *rule) {
	size := 0
	for _, n := range r.notify {
		if n.forEach == nil {
			e.addNotification(c, n, &size)
			continue
		}
		e.notifyEach(c, n, &size)
	}
	c.eachID, c.each = "", nil
}

func (e *Engine) notifyEach(c *Call, n *notify, size *int) {
	want := e.wanted(n.forEach.where, c)
	scanned, found, limited := 0, 0, false
	e.store.Collection(n.forEach.collection).Each(func(id string, doc []byte) bool {
		if scanned++; scanned > maxScanned {
			limited = true
			return false
		}
		if !selects(n.forEach.where, want, doc) {
			return true
		}
		if found++; found > n.forEach.limit || *size >= maxNotified {
			limited = true
			return false
		}
		c.eachID, c.each = id, doc
		e.addNotification(c, n, size)
		return true
	})
	if limited {
		c.Notifications = append(c.Notifications, Notification{Number: n.number, Problem: fmt.Sprintf(
			"forEach: the request has more documents than the limit of %d, or %d documents or %d MiB of notifications in all",
			n.forEach.limit, maxScanned, maxNotified>>20)})
	}
}

func (e *Engine) addNotification(c *Call, n *notify, size *int) {
	out := Notification{Number: n.number, Copies: e.copies(n)}
	if out.Copies > 0 {
		e.fillNotification(c, n, &out)
	}
	*size += out.Size()
	c.Notifications = append(c.Notifications, out)
}

// copies draws how often a notification is sent.
func (e *Engine) copies(n *notify) int {
	if n.twice == 0 {
		return 1
	}
	switch x := e.rng.Float64(); {
	case x < n.unsent:
		return 0
	case x < n.twice:
		return 2
	}
	return 1
}

func (e *Engine) fillNotification(c *Call, n *notify, out *Notification) {
	c.scratch = e.appendText(c.scratch[:0], &n.uri, c)
	if problem := uriProblem(string(c.scratch)); problem != "" {
		*out = Notification{Number: n.number, Problem: "uri: " + problem}
		return
	}
	out.URI, out.Method, out.Delay = string(c.scratch), n.method, n.delay.draw(e.rng)
	for i := range n.fields {
		f := &n.fields[i]
		c.scratch = e.appendText(c.scratch[:0], &f.value, c)
		if !validValue(c.scratch) {
			*out = Notification{Number: n.number, Problem: badValue(f.name)}
			return
		}
		out.Fields = append(out.Fields, NotificationField{f.name, string(c.scratch)})
	}
	c.scratch = e.appendText(c.scratch[:0], &n.body, c)
	if len(c.scratch) > maxAnswer {
		*out = Notification{Number: n.number, Problem: errTooLong}
		return
	}
	if len(c.scratch) > 0 {
		out.Body = bytes.Clone(c.scratch)
	}
}
