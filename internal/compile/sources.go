package compile

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// source is a reference of a spec: to a key of an object, a file, or a field of the pod.
type source struct {
	kind      Kind
	name, key string
	file      string
	// podField is a field of the runner pod.
	podField string
	at       *field.Path
}

// sources calls visit for each source that a spec refers to, in the order of the spec. No other function knows which
// fields refer to a source.
func sources(spec *v1alpha1.LoadTestSpec, visit func(source)) {
	w := sourceWalk(visit)
	path := field.NewPath("spec")
	for i := range spec.Targets {
		w.target(&spec.Targets[i], path.Child("targets").Index(i))
	}
	for i := range spec.Listeners {
		w.listener(&spec.Listeners[i], path.Child("listeners").Index(i))
	}
	for i := range spec.Variables {
		at := path.Child("variables").Index(i)
		if v := spec.Variables[i].CSV; v != nil {
			w.keys(at.Child("csv"), v.ConfigMapKeyRef, v.SecretKeyRef, v.File)
		}
		if v := spec.Variables[i].Constant; v != nil {
			w.value(at.Child("constant", "valueFrom"), v.ValueFrom)
		}
		if v := spec.Variables[i].Subscribers; v != nil && v.AKA != nil {
			w.aka(at.Child("subscribers", "aka"), v.AKA)
		}
	}
	for i := range spec.Templates {
		w.request(path.Child("templates").Index(i), &spec.Templates[i].Request)
	}
	eachInline(spec, w.request)
	eachAwait(spec, func(at *field.Path, in *v1alpha1.Await) {
		if in.Expect != nil {
			w.checks(at.Child("expect", "checks"), in.Expect.Checks)
		}
	})
}

type sourceWalk func(source)

// keys visits a ConfigMap key, a Secret key or a file. One of them is set.
func (w sourceWalk) keys(at *field.Path, configMap, secret *v1alpha1.KeyReference, file string) {
	if configMap != nil {
		w(source{kind: ConfigMap, name: configMap.Name, key: configMap.Key, at: at.Child("configMapKeyRef")})
	}
	if secret != nil {
		w(source{kind: Secret, name: secret.Name, key: secret.Key, at: at.Child("secretKeyRef")})
	}
	w.file(at.Child("file"), file)
}

func (w sourceWalk) file(at *field.Path, file string) {
	if file != "" {
		w(source{file: file, at: at})
	}
}

func (w sourceWalk) content(at *field.Path, in *v1alpha1.ContentSource) {
	if in != nil {
		w.keys(at, in.ConfigMapKeyRef, in.SecretKeyRef, in.File)
	}
}

func (w sourceWalk) aka(at *field.Path, in *v1alpha1.AKA) {
	w.content(at.Child("k", "valueFrom"), in.K.ValueFrom)
	if in.OP != nil {
		w.content(at.Child("op", "valueFrom"), in.OP.ValueFrom)
	}
	if in.OPc != nil {
		w.content(at.Child("opc", "valueFrom"), in.OPc.ValueFrom)
	}
}

func (w sourceWalk) value(at *field.Path, in *v1alpha1.ValueFrom) {
	if in == nil {
		return
	}
	w.keys(at, in.ConfigMapKeyRef, in.SecretKeyRef, in.File)
	if in.FieldRef != nil {
		w(source{podField: in.FieldRef.FieldPath, at: at.Child("fieldRef")})
	}
}

// whole visits keys of a Secret. The type of the Secret determines the keys.
func (w sourceWalk) whole(at *field.Path, secret *v1alpha1.SecretReference, keys ...string) {
	for _, key := range keys {
		w(source{kind: Secret, name: secret.Name, key: key, at: at})
	}
}

func (w sourceWalk) authority(at *field.Path, ca *v1alpha1.CertificateAuthority) {
	if ca == nil {
		return
	}
	if ca.ConfigMapKeyRef != nil {
		w(source{kind: ConfigMap, name: ca.ConfigMapKeyRef.Name, key: keyOf(ca.ConfigMapKeyRef), at: at.Child("configMapKeyRef")})
	}
	if ca.SecretKeyRef != nil {
		w(source{kind: Secret, name: ca.SecretKeyRef.Name, key: keyOf(ca.SecretKeyRef), at: at.Child("secretKeyRef")})
	}
	w.file(at.Child("file"), ca.File)
}

func (w sourceWalk) certificate(at *field.Path, own *v1alpha1.ClientCertificate) {
	if own == nil {
		return
	}
	if own.SecretRef != nil {
		w.whole(at.Child("secretRef"), own.SecretRef, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	if own.Files != nil {
		w.file(at.Child("files", "certificate"), own.Files.Certificate)
		w.file(at.Child("files", "key"), own.Files.Key)
	}
}

func (w sourceWalk) target(t *v1alpha1.Target, at *field.Path) {
	if t.TLS != nil {
		at := at.Child("tls")
		w.authority(at.Child("ca"), t.TLS.CA)
		w.certificate(at.Child("certificate"), t.TLS.Certificate)
	}
	if t.Auth != nil {
		w.auth(t.Auth, at.Child("auth"))
	}
	if t.ClientAssertion != nil {
		w.certificate(at.Child("clientAssertion", "certificate"), &t.ClientAssertion.Certificate)
	}
}

func (w sourceWalk) listener(l *v1alpha1.Listener, at *field.Path) {
	if l.TLS != nil {
		at := at.Child("tls")
		w.certificate(at.Child("certificate"), l.TLS.Certificate)
		w.authority(at.Child("clientCA"), l.TLS.ClientCA)
	}
	if l.Token != nil {
		w.content(at.Child("token", "keys"), &l.Token.Keys)
	}
}

func (w sourceWalk) auth(a *v1alpha1.Auth, at *field.Path) {
	if b := a.Basic; b != nil {
		at := at.Child("basic")
		if b.SecretRef != nil {
			w.whole(at.Child("secretRef"), b.SecretRef, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
		if b.Files != nil {
			w.file(at.Child("files", "username"), b.Files.Username)
			w.file(at.Child("files", "password"), b.Files.Password)
		}
	}
	if b := a.Bearer; b != nil {
		w.keys(at.Child("bearer"), nil, b.SecretKeyRef, b.File)
	}
	if o := a.OAuth2; o != nil {
		w.content(at.Child("oauth2", "clientSecret"), o.ClientSecret)
		w.authority(at.Child("oauth2", "ca"), o.CA)
		w.certificate(at.Child("oauth2", "certificate"), o.Certificate)
	}
}

func (w sourceWalk) checks(at *field.Path, checks []v1alpha1.Check) {
	for i := range checks {
		if s := checks[i].JSONSchema; s != nil {
			w.keys(at.Index(i).Child("jsonSchema"), s.ConfigMapKeyRef, nil, s.File)
		}
	}
}

func (w sourceWalk) request(at *field.Path, t *v1alpha1.Request) {
	for i := range t.Headers {
		w.value(at.Child("headers").Index(i).Child("valueFrom"), t.Headers[i].ValueFrom)
	}
	if from := t.BodyFrom; from != nil {
		w.keys(at.Child("bodyFrom"), from.ConfigMapKeyRef, from.SecretKeyRef, from.File)
	}
	for i := range t.Parts {
		if from := t.Parts[i].BodyFrom; from != nil {
			w.keys(at.Child("parts").Index(i).Child("bodyFrom"), from.ConfigMapKeyRef, from.SecretKeyRef, from.File)
		}
	}
	if t.Expect != nil {
		w.checks(at.Child("expect", "checks"), t.Expect.Checks)
	}
	if t.Script != nil {
		w.content(at.Child("script", "luaFrom"), t.Script.LuaFrom)
	}
}
