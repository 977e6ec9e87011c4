package compile

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// source is where something is that a spec names and does not hold: a key of an object, or a file.
type source struct {
	kind      Kind
	name, key string
	file      string
	at        *field.Path
}

// sources tells everything that a spec refers to, in its order. It is the one place that knows
// which fields do.
func sources(spec *v1alpha1.LoadTestSpec, tell func(source)) {
	w := sourceWalk(tell)
	path := field.NewPath("spec")
	for i := range spec.Targets {
		w.target(&spec.Targets[i], path.Child("targets").Index(i))
	}
	for i := range spec.Variables {
		at := path.Child("variables").Index(i)
		if v := spec.Variables[i].CSV; v != nil {
			w.keys(at.Child("csv"), v.ConfigMap, v.Secret, v.File)
		}
		if v := spec.Variables[i].Constant; v != nil {
			w.keys(at.Child("constant"), v.ConfigMap, v.Secret, v.File)
		}
	}
	for i := range spec.Templates {
		w.request(path.Child("templates").Index(i), &spec.Templates[i].Request)
	}
	eachInline(spec, w.request)
}

type sourceWalk func(source)

// keys tells of the usual three, of which one is set.
func (w sourceWalk) keys(at *field.Path, configMap, secret *v1alpha1.KeyReference, file string) {
	if configMap != nil {
		w(source{kind: ConfigMap, name: configMap.Name, key: configMap.Key, at: at.Child("configMap")})
	}
	if secret != nil {
		w(source{kind: Secret, name: secret.Name, key: secret.Key, at: at.Child("secret")})
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
		w.keys(at, in.ConfigMap, in.Secret, in.File)
	}
}

// whole tells of keys of a Secret whose type says which there are.
func (w sourceWalk) whole(at *field.Path, secret *v1alpha1.SecretReference, keys ...string) {
	for _, key := range keys {
		w(source{kind: Secret, name: secret.Name, key: key, at: at})
	}
}

func (w sourceWalk) authority(at *field.Path, ca *v1alpha1.CertificateAuthority) {
	if ca == nil {
		return
	}
	if ca.ConfigMap != nil {
		w(source{kind: ConfigMap, name: ca.ConfigMap.Name, key: keyOf(ca.ConfigMap), at: at.Child("configMap")})
	}
	if ca.Secret != nil {
		w(source{kind: Secret, name: ca.Secret.Name, key: keyOf(ca.Secret), at: at.Child("secret")})
	}
	w.file(at.Child("file"), ca.File)
}

func (w sourceWalk) target(t *v1alpha1.Target, at *field.Path) {
	if t.TLS != nil {
		at := at.Child("tls")
		w.authority(at.Child("ca"), t.TLS.CA)
		if own := t.TLS.Certificate; own != nil {
			at := at.Child("certificate")
			if own.Secret != nil {
				w.whole(at.Child("secret"), own.Secret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
			}
			if own.Files != nil {
				w.file(at.Child("files", "certificate"), own.Files.Certificate)
				w.file(at.Child("files", "key"), own.Files.Key)
			}
		}
	}
	if t.Auth != nil {
		w.auth(t.Auth, at.Child("auth"))
	}
}

func (w sourceWalk) auth(a *v1alpha1.Auth, at *field.Path) {
	if b := a.Basic; b != nil {
		at := at.Child("basic")
		if b.Secret != nil {
			w.whole(at.Child("secret"), b.Secret, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
		if b.Files != nil {
			w.file(at.Child("files", "username"), b.Files.Username)
			w.file(at.Child("files", "password"), b.Files.Password)
		}
	}
	if b := a.Bearer; b != nil {
		w.keys(at.Child("bearer"), nil, b.Secret, b.File)
	}
	if o := a.OAuth2; o != nil {
		w.content(at.Child("oauth2", "clientSecret"), o.ClientSecret)
		w.authority(at.Child("oauth2", "ca"), o.CA)
	}
}

func (w sourceWalk) request(at *field.Path, t *v1alpha1.Request) {
	for i := range t.Headers {
		w.content(at.Child("headers").Index(i).Child("valueFrom"), t.Headers[i].ValueFrom)
	}
	if from := t.BodyFrom; from != nil {
		w.keys(at.Child("bodyFrom"), from.ConfigMap, from.Secret, from.File)
	}
	if t.Expect != nil {
		for i := range t.Expect.Checks {
			if s := t.Expect.Checks[i].JSONSchema; s != nil {
				w.keys(at.Child("expect", "checks").Index(i).Child("jsonSchema"), s.ConfigMap, nil, s.File)
			}
		}
	}
	if t.Script != nil {
		w.content(at.Child("script", "luaFrom"), t.Script.LuaFrom)
	}
}
