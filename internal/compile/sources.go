package compile

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// source is a reference of a spec: to a key of an object, a file, or a field of the pod.
type source struct {
	kind      Kind
	name, key string
	file      string
	// schema: the key is a JSON Schema.
	schema bool
	// podField is a field of the runner pod.
	podField string
	at       *field.Path
}

// sources calls visit for each source that a spec refers to, in the order of the fields of its types.
func sources(spec *v1alpha1.LoadTestSpec, visit func(source)) {
	sourcesIn(reflect.ValueOf(spec), specPath, visit)
}

func sourcesIn(v reflect.Value, at *field.Path, visit func(source)) {
	switch v.Kind() {
	case reflect.Pointer:
		sourcesIn(v.Elem(), at, visit)
	case reflect.Slice:
		for i := range v.Len() {
			sourcesIn(v.Index(i), at.Index(i), visit)
		}
	case reflect.Struct:
		// Runners do not read baselines.
		if v.Type().PkgPath() != apiPackage || v.Type() == reflect.TypeFor[v1alpha1.Baseline]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				sourcesOf(v.Type(), i, f, at, visit)
			}
		}
	}
}

var apiPackage = reflect.TypeFor[v1alpha1.LoadTestSpec]().PkgPath()

// kinds are the kinds of the objects that fields refer to.
var kinds = map[string]Kind{"configMapKeyRef": ConfigMap, "secretKeyRef": Secret}

// sourcesOf visits the sources of field i of a type, which has the value f. at is the path of the type.
func sourcesOf(t reflect.Type, i int, f reflect.Value, at *field.Path, visit func(source)) {
	name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
	if name != "" { // not inlined
		at = at.Child(name)
	}
	switch f.Type() {
	case reflect.TypeFor[string]():
		if name == "file" || strings.HasSuffix(t.Name(), "Files") {
			visit(source{file: f.String(), at: at})
		}
	case reflect.TypeFor[*v1alpha1.KeyReference]():
		in := f.Interface().(*v1alpha1.KeyReference)
		visit(source{kind: kinds[name], name: in.Name, key: in.Key, at: at,
			schema: t == reflect.TypeFor[v1alpha1.JSONSchema]()})
	case reflect.TypeFor[*v1alpha1.SecretReference](): // the type of the Secret determines the keys
		keys := []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
		if t == reflect.TypeFor[v1alpha1.BasicAuth]() {
			keys = []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey}
		}
		for _, key := range keys {
			visit(source{kind: Secret, name: f.Interface().(*v1alpha1.SecretReference).Name, key: key, at: at})
		}
	case reflect.TypeFor[*v1alpha1.FieldReference]():
		visit(source{podField: f.Interface().(*v1alpha1.FieldReference).FieldPath, at: at})
	default:
		sourcesIn(f, at, visit)
	}
}
