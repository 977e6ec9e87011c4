package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxObject is the greatest size of an object in bytes: that of a request of etcd.
const maxObject = 3 << 19

// call is a request that was read.
type call struct {
	Request
	kind   *kind // nil: the request is not one for objects that are served
	query  url.Values
	status bool
	apply  bool
	// metadata: the client wants only the metadata of objects.
	metadata bool
	body     []byte
}

// resources are the paths of objects: group, version, namespace, resource, name, subresource.
var resources = regexp.MustCompile(
	`^/api(?:s/([^/]+))?/([^/]+)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?(?:/(status))?$`)

// parse reads a request.
func (s *Server) parse(req *http.Request) (*call, error) {
	c := &call{query: req.URL.Query(), metadata: strings.Contains(req.Header.Get("Accept"), ";as=PartialObjectMetadata"),
		apply: strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch")}
	var err error
	if req.Body != nil {
		if c.body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	path := resources.FindStringSubmatch(req.URL.Path)
	if path == nil {
		return c, nil
	}
	c.Namespace, c.Name, c.status = path[3], path[5], path[6] != ""
	for _, k := range s.kinds {
		if k.Group == path[1] && k.Version == path[2] && k.resource.Resource == path[4] {
			c.kind, c.Kind = k, k.Kind
		}
	}
	c.Verb = c.verb(req.Method)
	if c.kind != nil && (c.Verb == "create" || c.Verb == "update") {
		if c.Object, err = c.kind.object(c.body); err == nil {
			c.Name = c.Object.GetName()
		}
	}
	return c, err
}

func (c *call) verb(method string) string {
	switch {
	case c.query.Get("watch") != "":
		return "watch"
	case c.Name == "" && method == http.MethodGet:
		return "list"
	case c.Name == "" && method == http.MethodDelete:
		return "deletecollection"
	}
	return map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
		http.MethodPatch: "patch", http.MethodDelete: "delete"}[method]
}

func (k *kind) object(body []byte) (client.Object, error) {
	o := reflect.New(k.of.Elem()).Interface().(client.Object)
	return o, json.Unmarshal(body, o)
}

// answer handles a request.
func (s *Server) answer(c *call) (body []byte, err error) {
	switch {
	case c.kind == nil:
		return []byte("ok"), nil // of the path /readyz
	case len(c.body) > maxObject:
		return nil, apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var o *stored
	switch c.Verb {
	case "get":
		o, err = c.kind.find(c.key(), "", "")
	case "create":
		o, err = s.create(c.kind, c.Object)
	case "update":
		o, err = s.update(c.kind, c.Object, c.status)
	case "patch":
		o, err = s.patch(c)
	case "list":
		return s.list(c)
	default:
		return []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`), s.delete(c)
	}
	if err != nil {
		return nil, err
	}
	return o.encode(c.metadata)
}

func (c *call) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

// patch merges the body into an object. It merges an apply, too: a field that an earlier apply of the same manager had
// stays.
func (s *Server) patch(c *call) (*stored, error) {
	raw, before := []byte("{}"), c.kind.objects[c.key()]
	var err error
	switch {
	case before != nil:
		raw, err = before.encode(false)
	case !c.apply:
		_, err = c.kind.find(c.key(), "", "")
	}
	if err != nil {
		return nil, err
	}
	if raw, err = merge(raw, c.body); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	switch o, err := c.kind.object(raw); {
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	case before == nil:
		return s.create(c.kind, o)
	default:
		return s.update(c.kind, o, c.status)
	}
}

// merge is JSON Merge Patch (RFC 7386).
func merge(into, patch json.RawMessage) (json.RawMessage, error) {
	var have, want map[string]json.RawMessage
	if json.Unmarshal(patch, &want) != nil || want == nil {
		return patch, nil
	}
	if json.Unmarshal(into, &have) != nil || have == nil {
		have = map[string]json.RawMessage{}
	}
	for name, value := range want {
		var err error
		if string(value) == "null" {
			delete(have, name)
		} else if have[name], err = merge(have[name], value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(have)
}

func (s *Server) delete(c *call) error {
	opts := &metav1.DeleteOptions{}
	if err := json.Unmarshal(c.body, opts); err != nil && len(c.body) > 0 {
		return apierrors.NewBadRequest(err.Error())
	}
	if c.Verb == "delete" {
		return s.remove(c.kind, c.key(), opts)
	}
	match, err := c.selector()
	for _, o := range c.kind.sorted() {
		if err == nil && match(o) {
			err = s.remove(c.kind, client.ObjectKeyFromObject(o), opts)
		}
	}
	return err
}

// list returns a list of objects, with all of them: it ignores a limit. The caller holds mu.
func (s *Server) list(c *call) ([]byte, error) {
	match, err := c.selector()
	if err != nil {
		return nil, err
	}
	list := struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}{metav1.TypeMeta{APIVersion: c.kind.GroupVersion().String(), Kind: c.kind.Kind + "List"},
		metav1.ListMeta{ResourceVersion: strconv.FormatInt(s.version, 10)}, []json.RawMessage{}}
	if c.metadata {
		list.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
	}
	for _, o := range c.kind.sorted() {
		if match(o) {
			raw, err := o.encode(c.metadata)
			if err != nil {
				return nil, err
			}
			list.Items = append(list.Items, raw)
		}
	}
	return json.Marshal(&list)
}

// encode returns an object, or its metadata. The caller holds mu.
func (o *stored) encode(metadata bool) (out []byte, err error) {
	if metadata {
		if o.metadata == nil {
			part := meta.AsPartialObjectMetadata(o.Object)
			part.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
			o.metadata, err = json.Marshal(part)
		}
		return o.metadata, err
	}
	if o.whole == nil {
		o.whole, err = json.Marshal(o.Object)
	}
	return o.whole, err
}

// selector returns what matches the namespace and selectors of a request.
func (c *call) selector() (func(*stored) bool, error) {
	byLabel, err := labels.Parse(c.query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(c.query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(o *stored) bool {
		return o != nil && (c.Namespace == "" || c.Namespace == o.GetNamespace()) &&
			byLabel.Matches(labels.Set(o.GetLabels())) && (byField.Empty() || byField.Matches(fieldsOf(o.Object)))
	}, nil
}

// fieldsOf returns the fields of an object that clients can select by.
func fieldsOf(o client.Object) fields.Set {
	out := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	if e, ok := o.(*corev1.Event); ok {
		out["involvedObject.uid"], out["reason"] = string(e.InvolvedObject.UID), e.Reason
	}
	return out
}

// respond makes a response of a body, or of an error.
func respond(body []byte, err error) *http.Response {
	code := http.StatusOK
	if err != nil {
		status := statusOf(err)
		code = int(status.Code)
		body, _ = json.Marshal(status)
	}
	return response(code, io.NopCloser(bytes.NewReader(body)))
}

func response(code int, body io.ReadCloser) *http.Response {
	return &http.Response{Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Body: body,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1, Proto: "HTTP/2.0", ProtoMajor: 2}
}

// statusOf returns an error as the API has it.
func statusOf(err error) *metav1.Status {
	var of apierrors.APIStatus
	if !errors.As(err, &of) {
		of = apierrors.NewInternalError(err)
	}
	out := of.Status()
	out.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return &out
}
