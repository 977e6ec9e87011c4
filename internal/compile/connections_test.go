package compile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

func compiledTarget(t *testing.T, edit func(*v1alpha1.Target)) (runnerv1alpha1.Target, []string) {
	t.Helper()
	lt := builder.Minimal("test").Edit(func(s *spec) { edit(&s.Targets[0]) }).Build()
	p, warnings, errs := compile.Compile("default/test", &lt.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	return p.Targets[0], warnings
}

// TestOneALPNProtocolSettlesIt: what a peer without ALPN would be spoken to must not depend on it. Proto files settle it,
// too, unless the list does not.
func TestOneALPNProtocolSettlesIt(t *testing.T) {
	for _, tc := range []struct {
		alpn, protos string
		want         runnerv1alpha1.Protocol
		offered      string
	}{
		{"h2", "", runnerv1alpha1.ProtocolH2, "h2"},
		{"http/1.1", "", runnerv1alpha1.ProtocolHTTP1, "http/1.1"},
		{"h2 http/1.1", "", runnerv1alpha1.ProtocolALPN, "h2 http/1.1"},
		{"http/1.1 h2", "", runnerv1alpha1.ProtocolALPN, "http/1.1 h2"},
		{"", "", runnerv1alpha1.ProtocolALPN, "h2 http/1.1"},
		{"", "a.proto", runnerv1alpha1.ProtocolH2, "h2"},
		{"h2", "a.proto", runnerv1alpha1.ProtocolH2, "h2"},
		{"http/1.1 h2", "a.proto", runnerv1alpha1.ProtocolALPN, "http/1.1 h2"},
	} {
		got, _ := compiledTarget(t, func(target *v1alpha1.Target) {
			target.URL, target.TLS = "https://a", &v1alpha1.TLS{ALPN: strings.Fields(tc.alpn)}
			if tc.protos != "" {
				target.ProtoFrom = []v1alpha1.ContentSource{{File: tc.protos}}
			}
		})
		if offered := strings.Join(got.TLS.ALPN, " "); got.Protocol != tc.want || offered != tc.offered {
			t.Errorf("%+v: protocol %s; offered %s", tc, got.Protocol, offered)
		}
	}
}

// TestConnectionDefaults: an empty object says as much as none, and one that says nothing of
// fail-over has it.
func TestConnectionDefaults(t *testing.T) {
	second := v1alpha1.Duration{Duration: time.Second}
	for _, tc := range []struct {
		name string
		edit func(*v1alpha1.Target)
		want runnerv1alpha1.Target
	}{
		{"nothing", func(*v1alpha1.Target) {}, runnerv1alpha1.Target{}},
		{"empty objects", func(t *v1alpha1.Target) {
			t.Protocol = "h2c"
			t.HTTP2, t.Connecting = &v1alpha1.HTTP2{}, &v1alpha1.Connecting{}
		}, runnerv1alpha1.Target{}},
		{"tables of zero", func(t *v1alpha1.Target) {
			t.HTTP2 = &v1alpha1.HTTP2{HeaderTableSize: ptr.To[int32](0), EncoderTableSize: ptr.To[int32](0)}
		}, runnerv1alpha1.Target{HTTP2: runnerv1alpha1.HTTP2{HeaderTableSize: ptr.To[uint32](0), EncoderTableSize: ptr.To[uint32](0)}}},
		{"a group fails over", func(t *v1alpha1.Target) { t.URL, t.URLs = "", []string{"http://a", "http://b"} },
			runnerv1alpha1.Target{Connecting: runnerv1alpha1.Connecting{FailbackInterval: 5 * time.Second}}},
		{"a group that does not", func(t *v1alpha1.Target) {
			t.URL, t.URLs = "", []string{"http://a", "http://b"}
			t.Connecting = &v1alpha1.Connecting{Open: v1alpha1.OpenOnDemand, Failover: ptr.To(false)}
		}, runnerv1alpha1.Target{Connecting: runnerv1alpha1.Connecting{NoFailover: true, OnDemand: true}}},
		{"a ramp without a period", func(t *v1alpha1.Target) {
			t.Connecting = &v1alpha1.Connecting{Ramp: &v1alpha1.ConnectionRamp{Connections: 3}, FailbackInterval: &second}
		}, runnerv1alpha1.Target{Connecting: runnerv1alpha1.Connecting{RampCount: 3, RampPeriod: time.Second, FailbackInterval: time.Second}}},
		{"connections of instances", func(t *v1alpha1.Target) {
			t.URL, t.URLs = "", []string{"http://a", "http://b"}
			t.Connecting = &v1alpha1.Connecting{Open: v1alpha1.OpenPerInstance, Interface: "n6"}
		}, runnerv1alpha1.Target{Connecting: runnerv1alpha1.Connecting{OnDemand: true, PerInstance: true, Interface: "n6"}}},
		{"one request a connection", func(t *v1alpha1.Target) {
			t.Protocol, t.HTTP1 = "http1", &v1alpha1.HTTP1{KeepAlive: ptr.To(false)}
		}, runnerv1alpha1.Target{HTTP1: runnerv1alpha1.HTTP1{NoKeepAlive: true}}},
	} {
		got, _ := compiledTarget(t, tc.edit)
		got = runnerv1alpha1.Target{HTTP2: got.HTTP2, HTTP1: got.HTTP1, Connecting: got.Connecting}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestAuthorityThatIsNotUsed(t *testing.T) {
	_, got := compiledTarget(t, func(target *v1alpha1.Target) {
		target.URL = "https://a"
		target.TLS = &v1alpha1.TLS{InsecureSkipVerify: true, CAFrom: &v1alpha1.ContentSource{File: "ca.pem"}}
	})
	if want := []string{"spec.targets[0].tls.caFrom: is not used, because insecureSkipVerify accepts any certificate"}; !cmp.Equal(want, got) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// TestMounts: each object once, each of its keys once, in one order, and each where the plan looks
// for it.
func TestMounts(t *testing.T) {
	authority := func(ca v1alpha1.ContentSource) v1alpha1.Target {
		return v1alpha1.Target{URL: "https://a", TLS: &v1alpha1.TLS{CAFrom: &ca}}
	}
	own := authority(v1alpha1.ContentSource{SecretKeyRef: &v1alpha1.KeyReference{Name: "b", Key: "ca.crt"}})
	own.TLS.Certificate = &v1alpha1.ClientCertificate{SecretRef: &v1alpha1.SecretReference{Name: "b"}}
	lt := builder.Minimal("test").Edit(func(s *spec) {
		s.Targets = []v1alpha1.Target{
			own, own, {URL: "http://plain"},
			authority(v1alpha1.ContentSource{SecretKeyRef: &v1alpha1.KeyReference{Name: "a", Key: "x"}}),
			authority(v1alpha1.ContentSource{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: "c", Key: "ca.crt"}}),
			authority(v1alpha1.ContentSource{File: "/d"}),
		}
		s.Templates[0].Expect = &v1alpha1.Expect{Checks: []v1alpha1.Check{{Name: "s", JSONSchema: &v1alpha1.JSONSchema{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: "schemas", Key: "a.json"}}}}}
		for i := range s.Targets {
			s.Targets[i].Name = fmt.Sprintf("t%d", i)
		}
		s.Chains[0].Target = "t0"
		s.Templates[0].Parts = []v1alpha1.BodyPart{
			{ContentType: "a/b", BodyFrom: &v1alpha1.BodyFrom{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: "p", Key: "n1"}}},
			{ContentType: "a/b", BodyFrom: &v1alpha1.BodyFrom{SecretKeyRef: &v1alpha1.KeyReference{Name: "p", Key: "n2"}}},
			{ContentType: "a/b", BodyFrom: &v1alpha1.BodyFrom{File: "/d"}},
		}
	}).Build()
	var got []string
	files := map[string]bool{}
	for _, m := range compile.Mounts(&lt.Spec) {
		if m.Schemas != (m.Name == "schemas") {
			t.Errorf("%s: schemas %v", m.Name, m.Schemas)
		}
		for _, item := range m.Items {
			got = append(got, fmt.Sprintf("%s %s %s %s %s", m.Kind, m.Name, item.Key, item.Path, item.Field))
			files[compile.FilesDir+"/"+item.Path] = true
			files[compile.SchemasDir+"/"+m.Name+"/"+item.Key] = m.Schemas
		}
	}
	want := []string{
		"ConfigMap c ca.crt configmaps/c/ca.crt spec.targets[4].tls.caFrom.configMapKeyRef",
		"ConfigMap p n1 configmaps/p/n1 spec.templates[0].parts[0].bodyFrom.configMapKeyRef",
		"ConfigMap schemas a.json configmaps/schemas/a.json spec.templates[0].expect.checks[0].jsonSchema.configMapKeyRef",
		"Secret a x secrets/a/x spec.targets[3].tls.caFrom.secretKeyRef",
		"Secret b ca.crt secrets/b/ca.crt spec.targets[0].tls.caFrom.secretKeyRef",
		"Secret b tls.crt secrets/b/tls.crt spec.targets[0].tls.certificate.secretRef",
		"Secret b tls.key secrets/b/tls.key spec.targets[0].tls.certificate.secretRef",
		"Secret p n2 secrets/p/n2 spec.templates[0].parts[1].bodyFrom.secretKeyRef",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	p, _, errs := compile.Compile("default/test", &lt.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	for _, file := range p.Files() {
		if *file != "/d" && !files[*file] {
			t.Errorf("the plan wants %s, which is not mounted", *file)
		}
	}
}
